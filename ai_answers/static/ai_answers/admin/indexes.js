/** Follows indexing while it runs: asks for the state each second, moves the bars, and shows the
 *  page's new words for an index once it has ended. Needs [data-state-url] around its [data-index]
 *  sections; one with [data-running] is followed. */
const SECOND = 1000;
const PATIENCE = 10; // answers that may fail in a row: a server that starts anew takes some seconds

class Indexes {
  #page;
  #failed = 0;

  constructor(page) {
    this.#page = page;
    if (this.#running().length) this.#later();
  }

  #running() {
    return [...this.#page.querySelectorAll("[data-running]")];
  }

  #later() {
    setTimeout(() => this.#look(), SECOND);
  }

  async #look() {
    try {
      const state = await this.#ask();
      this.#failed = 0;
      const ended = this.#running().filter((section) => !this.#move(section, state));
      if (ended.length) await this.#renew(ended);
    } catch {
      this.#failed += 1;
    }
    if (this.#failed >= PATIENCE) {
      this.#say(this.#page.dataset.lost).className = "errornote";
    } else if (this.#running().length) this.#later();
  }

  async #ask() {
    const response = await fetch(this.#page.dataset.stateUrl, {
      headers: { Accept: "application/json" },
      redirect: "error", // to the login: nothing more to see here
    });
    if (!response.ok) throw new Error(response.status);
    return response.json();
  }

  /** Show how far an index is; returns whether it is still on the way. */
  #move(section, state) {
    const now = state[section.dataset.index];
    if (!now?.is_running) return false;
    const bar = section.querySelector("progress");
    if (now.total) {
      bar.max = now.total;
      bar.value = now.done;
    } else bar.removeAttribute("value");
    section.querySelector("[data-status]").textContent = now.status;
    return true;
  }

  /** Put the server's new words in place of those of sections that have ended. */
  async #renew(sections) {
    const response = await fetch(location.href);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const section of sections) {
      const name = CSS.escape(section.dataset.index);
      const fresh = page.querySelector(`[data-index="${name}"]`);
      if (!fresh) continue;
      const hadFocus = section.contains(document.activeElement);
      section.replaceWith(fresh);
      if (hadFocus) fresh.querySelector("h2").focus();
      const news = fresh.querySelector(".errornote, .ai-answers-notice");
      this.#say(`${section.dataset.index}: ${news?.textContent.trim() ?? ""}`);
    }
  }

  #say(text) {
    const news = this.#page.querySelector("[role=status]");
    news.textContent = text.replace(/\s+/g, " ");
    return news;
  }
}

for (const page of document.querySelectorAll("[data-state-url]")) new Indexes(page);
