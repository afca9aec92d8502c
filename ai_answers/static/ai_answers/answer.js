/** <ai-answers-answer>: asks, and shows answers as they come. Texts are the template's. */
import { role } from "./parts.js";
import { readHandoff, remember } from "./question.js";
import { followChip, linkChips, ReferenceBook, showReferences, startPreviews } from "./references.js";
import { TurnView } from "./turn.js";
import { Api, readFrames } from "./wire.js";

export class AnswerElement extends HTMLElement {
  #api;
  #book = new ReferenceBook();
  #turns = [];
  #conversation = null;
  #stream;
  #life;

  connectedCallback() {
    const { api, csrfHeader } = this.dataset;
    this.#api = new Api(new URL(api, document.baseURI), csrfHeader);
    const { signal } = (this.#life = new AbortController());
    this.onclick = (event) => this.#click(event);
    this.onsubmit = (event) => this.#submit(event);
    const asked = (event) => {
      if (event.detail.target !== this.id || event.defaultPrevented) return;
      event.preventDefault();
      this.ask(event.detail.question);
    };
    document.addEventListener("ai-answers:ask", asked, { signal });
    startPreviews(this, this.#book, signal);
    if (!this.#takeHandoff()) this.#restore(remember(this.id));
  }

  disconnectedCallback() {
    this.#life.abort();
    this.#stream?.abort();
  }

  async ask(question, { followUp = false } = {}) {
    question = question.trim();
    if (!question || (followUp && this.#last?.isOpen)) return;
    if (this.#last?.isOpen) this.stop();
    if (!followUp) this.#clear();
    const turn = this.#open(question, followUp);
    turn.element.scrollIntoView({ block: "nearest" });
    const { agent, language } = this.dataset;
    const body = {
      agent,
      language,
      question,
      conversation_id: this.#conversation,
      format: "html",
      page: { path: location.pathname },
      request_id: crypto.getRandomValues(new Uint32Array(4)).join("-"),
    };
    await this.#follow(turn, (signal) => this.#api.post("question", body, signal));
  }

  stop() {
    const { server } = Object.assign(this.#last ?? {}, { isStopping: true });
    if (server?.run) this.#api.post(`runs/${server.run}/stop`).catch(() => {});
  }

  showReferences() {
    showReferences(this, this.#book);
    const { number, body } = this.#last ?? {};
    if (body) linkChips(this, this.#book, number, body);
  }

  get #last() {
    return this.#turns.at(-1);
  }

  #open(question, followUp) {
    const turn = new TurnView(this, (this.#last?.number ?? 0) + 1, question, followUp);
    this.#turns.push(turn);
    role(this, "transcript").append(turn.element);
    role(this, "empty")?.remove();
    return turn;
  }

  #clear() {
    this.#stream?.abort();
    this.#conversation = remember(this.id, null);
    this.#turns = [];
    this.#book.clear();
    role(this, "transcript").replaceChildren();
    this.showReferences();
  }

  async #follow(turn, start) {
    const { signal } = (this.#stream = new AbortController());
    const open = (lastId) => {
      const headers = { "Last-Event-ID": lastId };
      const { run } = turn.server;
      return run ? this.#api.fetch(`runs/${run}/events`, { headers, signal }) : start(signal);
    };
    this.#setBusy(true);
    this.#say("searching");
    try {
      for await (const { kind, data } of readFrames(open, { signal })) {
        this.#receive(turn, kind, data);
      }
      if (turn.isOpen && !signal.aborted) {
        turn.isOpen = false;
        this.#restore(this.#conversation);
      }
    } catch (error) {
      if (!signal.aborted) this.#fail(turn, error);
    }
    if (this.#stream.signal === signal) this.#setBusy(false);
  }

  #receive(turn, kind, data) {
    const { number } = turn;
    if (kind === "part") {
      if (!this.#fire("part", data, true)) return;
      linkChips(this, this.#book, number, turn.parts.apply(data));
      return;
    }
    if (data.run) {
      turn.server = data;
      remember(this.id, (this.#conversation = data.conversation_id));
      if (turn.isStopping) this.stop();
    }
    if (kind === "status" || kind === "snapshot") this.#say(data.phase, data.detail);
    if (kind === "snapshot") {
      this.#book.replace(number, data.references);
      turn.parts.snapshot(data.parts);
    } else if (kind === "references") this.#book.add(number, data.references);
    else if (kind === "citation") this.#book.cite(number, data.index, data.key);
    else if (kind === "error") this.#fail(turn, data);
    else if (kind === "done" || kind === "stopped") {
      const { length } = data.references;
      const plural = new Intl.PluralRules(this.dataset.language).select(length);
      this.#finish(turn, data);
      this.#say(kind === "done" && length ? plural : data.outcome, length);
      this.#fire("done", data);
    }
    this.showReferences();
  }

  #finish(turn, { text, references, feedback }) {
    this.#book.replace(turn.number, references);
    turn.finish(text, feedback);
    this.#settle();
  }

  #fail(turn, error) {
    const { textConnection, textError } = this.dataset;
    const text = error.code === "connection" ? textConnection : textError;
    this.#book.replace(turn.number, this.#book.cited(turn.number));
    turn.fail(error.message || text, error);
    this.#say("");
    this.#settle();
  }

  #settle() {
    this.showReferences();
    role(this, "follow-up").hidden = !("allowFollowUp" in this.dataset && this.#conversation);
  }

  #fire(name, detail, cancelable) {
    const options = { bubbles: true, cancelable, detail };
    return this.dispatchEvent(new CustomEvent(`ai-answers:${name}`, options));
  }

  #setBusy(busy) {
    role(this, "transcript").setAttribute("aria-busy", busy);
    role(this, "stop").hidden = !busy;
  }

  /** Set only when it changes: it is read out. */
  #say(phase, detail = "") {
    const status = role(this, "status");
    const text = status.getAttribute(`data-${phase}`)?.replace("{count}", detail) ?? "";
    if (status.textContent !== text) status.textContent = text;
    const { isOpen, question } = this.#last;
    role(this, "detail").textContent = isOpen && detail !== question ? detail : "";
  }

  async #restore(id) {
    if (!id) return;
    const data = await this.#api.get(`conversations/${id}`).catch((error) => {
      if (error.code === "not_found") remember(this.id, null);
    });
    if (!data || this.#last?.isOpen) return;
    this.#clear();
    this.#conversation = remember(this.id, id) ?? id;
    for (const saved of data.turns) {
      const turn = this.#open(saved.question, this.#turns.length > 0);
      turn.server = { conversation_id: id, turn: saved.turn, run: data.run?.run };
      turn.parts.snapshot([saved.html]);
      if (!saved.outcome && data.run) await this.#follow(turn);
      else if (saved.text) this.#finish(turn, saved);
      else if (saved.outcome === "refused") {
        this.#fail(turn, { message: role(this, "status").dataset.refused });
      } else this.#fail(turn, { retryable: true });
    }
  }

  /** A question from elsewhere is not asked: a link must not spend money. */
  #takeHandoff() {
    const { target, question, isOwn } = readHandoff(location.hash);
    if (target !== this.id) return false;
    remember("handoff", null);
    history.replaceState(history.state, "", location.pathname + location.search);
    if (isOwn) {
      this.ask(question);
      return true;
    }
    const block = document.querySelector(`[data-target="${CSS.escape(target)}"]`);
    const form = role(this, "follow-up");
    form.hidden &&= Boolean(block);
    const field = role(block ?? form, "field");
    field.value = question;
    field.focus();
    return true;
  }

  #submit(event) {
    event.preventDefault();
    const form = event.target;
    const data = new FormData(form);
    if (form.dataset.role === "reasons") {
      const more = { reasons: data.getAll("reasons"), comment: data.get("comment") };
      this.#turnOf(form).vote(this.#api, "negative", more);
    } else if (!this.#last?.isOpen) {
      this.ask(data.get("q"), { followUp: Boolean(this.#conversation) });
      form.reset();
    }
  }

  #click(event) {
    followChip(this, this.#book, event);
    const button = event.target.closest("button[type=button]");
    const action = button?.dataset.role;
    const turn = this.#turnOf(button);
    if (action === "stop") this.stop();
    else if (action === "copy") turn.copy(this.#book.cited(turn.number), this.dataset.textSources);
    else if (action === "retry") {
      if (this.#last.isOpen) return;
      this.#turns = this.#turns.filter((other) => other !== turn);
      this.#book.replace(turn.number);
      turn.element.remove();
      this.ask(turn.question, turn);
    } else if (turn?.slot("feedback")?.contains(button)) turn.vote(this.#api, action);
  }

  #turnOf(node) {
    return this.#turns.find(({ element }) => element.contains(node));
  }
}
