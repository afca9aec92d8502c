import { fromTemplate, Parts, role } from "./parts.js";
import { makeLink } from "./references.js";

export class TurnView {
  server = {};
  isOpen = true;
  #text = "";

  /** `number` is the client's own; the server's comes too late. */
  constructor(answer, number, question, followUp) {
    Object.assign(this, { number, question, followUp });
    this.element = fromTemplate(answer, "turn-template");
    this.slot("question").textContent = question;
    this.body = this.slot("answer");
    this.parts = new Parts(this.body);
  }

  slot(name) {
    return role(this.element, name);
  }

  finish(text, rating) {
    this.isOpen = false;
    this.#text = text;
    this.slot("actions").hidden = !text;
    this.#press(rating);
  }

  fail(message, { retryable, retryAfter = 0 }) {
    this.isOpen = false;
    this.slot("message").textContent = message;
    this.slot("error").hidden = false;
    const retry = this.slot("retry");
    retry.hidden = !retryable || retryAfter > 600;
    retry.disabled = true;
    setTimeout(() => (retry.disabled = false), retryAfter * 1000);
  }

  async vote(api, rating, more) {
    const { conversation_id, turn } = this.server;
    this.#press(rating);
    this.slot("reasons").hidden = rating === "positive" || more;
    const { ok } = await api
      .post("feedback", { conversation_id, turn, rating, ...more })
      .catch(() => ({}));
    if (!ok) this.#press();
    this.#note(ok ? "thanks" : "failed");
  }

  async copy(references, heading) {
    const rich = this.body.cloneNode(true);
    for (const chip of rich.querySelectorAll("a[data-ref-index]")) {
      const { refIndex } = chip.dataset;
      const { url } = references.find(({ index }) => index == refIndex) ?? {};
      chip.replaceWith(makeLink({ label: `[${refIndex}]`, url }));
    }
    const plain = [this.#text.replace(/\\\[([^\]\\]*)\\\]/g, "[$1]"), "", heading];
    for (const reference of references) {
      const line = document.createElement("p");
      line.append(`[${reference.index}] `, makeLink(reference));
      rich.append(line);
      plain.push(`${line.textContent} ${line.lastChild.href}`);
    }
    for (const link of rich.querySelectorAll("a[href]")) link.setAttribute("href", link.href);
    const content = { "text/plain": plain.join("\n"), "text/html": rich.innerHTML };
    await navigator.clipboard.write([new ClipboardItem(content)]);
    this.#note("copied");
  }

  #press(rating) {
    for (const name of ["positive", "negative"]) {
      this.slot(name)?.setAttribute("aria-pressed", name === rating);
    }
  }

  #note(name) {
    const note = this.slot("note");
    note.textContent = note.getAttribute(`data-${name}`);
  }
}
