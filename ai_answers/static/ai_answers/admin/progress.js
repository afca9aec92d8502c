/** Shows how far indexing is, asked for once a second while a run is on its way. */

const SECOND = 1000;
const main = document.querySelector("[data-ai-answers-progress]");

async function look() {
  const response = await fetch(main.dataset.aiAnswersProgress, { headers: { Accept: "application/json" } });
  if (!response.ok) return;
  const { jobs } = await response.json();
  for (const job of jobs) show(job);
  if (jobs.some((job) => job.is_running)) setTimeout(look, SECOND);
}

function show(job) {
  const module = main.querySelector(`[data-index="${CSS.escape(job.index)}"]`);
  const text = module?.querySelector(".ai-answers-job");
  if (!text) return;
  text.textContent = job.text;
  text.classList.toggle("errornote", job.is_error);
  const bar = module.querySelector("progress");
  bar.hidden = !job.is_running;
  bar.max = job.total || 1;
  bar.value = job.done;
  module.querySelector(".ai-answers-failures").replaceChildren(
    ...job.failures.map((failure) => {
      const item = document.createElement("li");
      item.textContent = `${failure.object}: ${failure.error}`;
      return item;
    }),
  );
  for (const button of module.querySelectorAll("button")) button.disabled = job.is_running;
}

look();
