/** A conversation's references: their cards, and the chips that lead there. */
import { fromTemplate, role, toFragment } from "./parts.js";

export function referenceKey({ key, entity_type, entity_id, url, label }) {
  return key || (entity_type && entity_id ? `${entity_type}:${entity_id}` : url || label);
}

/** What was found, what is cited. No DOM; only the last turn changes. */
export class ReferenceBook {
  #found = []; // { turn, key, reference }
  #cited = []; // { turn, index, key }: the first of a key has the card

  add(turn, references = []) {
    for (const reference of references) {
      const key = referenceKey(reference) || `${turn}/${reference.index}`;
      this.#found = this.#found.filter((entry) => entry.turn !== turn || entry.key !== key);
      this.#found.push({ turn, key, reference });
      if (reference.index) this.cite(turn, reference.index, key);
    }
  }

  cite(turn, index, key) {
    if (!this.#cited.some((entry) => entry.turn === turn && entry.index === index)) {
      this.#cited.push({ turn, index, key });
    }
  }

  replace(turn, references) {
    const isOther = (entry) => entry.turn !== turn;
    this.#found = this.#found.filter(isOther);
    this.#cited = this.#cited.filter(isOther);
    this.add(turn, references);
  }

  clear() {
    this.#found = [];
    this.#cited = [];
  }

  cited(turn) {
    return this.#cited
      .filter((entry) => entry.turn === turn && this.#reference(entry))
      .map((entry) => ({ ...this.#reference(entry), index: entry.index }));
  }

  target({ refTurn, refIndex }) {
    const entry = this.#cited.find(({ turn, index }) => turn == refTurn && index == refIndex);
    const reference = entry && this.#reference(entry);
    return reference && { ...this.#first(entry), reference };
  }

  /** Cards in order, then what was only found. */
  items() {
    return [
      ...this.#cited.filter((entry) => entry === this.#first(entry)),
      ...this.#found.filter((entry) => !this.#first(entry)),
    ]
      .map((entry) => ({ ...entry, reference: this.#reference(entry) }))
      .filter(({ reference }) => reference);
  }

  #first({ key }) {
    return this.#cited.find((entry) => entry.key === key);
  }

  #reference({ turn, key }) {
    return this.#found.find((entry) => entry.turn === turn && entry.key === key)?.reference;
  }
}

function referenceSections(answer) {
  const target = `[data-ai-answers-sources-target="${CSS.escape(answer.id)}"]`;
  return [role(answer, "references"), ...document.querySelectorAll(target)].filter(Boolean);
}

const itemId = (answer, { turn, index }) => `${answer.id}-ref-${turn}-${index}`;
const made = new WeakMap();

export function showReferences(answer, book) {
  referenceSections(answer).forEach((section, place) => {
    const list = role(section, "list");
    const old = new Map([...list.children].map((item) => [made.get(item), item]));
    book.items().forEach((entry, position) => {
      const { turn, index, key, reference } = entry;
      const content = JSON.stringify([turn, index, key, reference.label, reference.html]);
      const item = old.get(content) ?? makeItem(section, entry);
      old.delete(content);
      made.set(item, content);
      const next = list.children[position];
      if (next !== item) list.insertBefore(item, next ?? null);
      if (!index) return;
      role(item, "number").textContent = position + 1;
      if (!place) item.id = itemId(answer, entry);
    });
    for (const item of old.values()) item.remove();
    section.hidden = !list.children.length;
  });
}

function makeItem(section, { turn, index, reference }) {
  const item = fromTemplate(section, "reference-template");
  const { html, score } = reference;
  item.dataset.refTurn = turn;
  role(item, "card").append(index && html ? toFragment(html) : makeLink(reference));
  for (const link of item.querySelectorAll("a[href]")) {
    Object.assign(link, { href: link.href, target: "_blank", rel: "noopener" });
  }
  if (index) {
    item.dataset.refIndex = index;
    role(item, "score")?.append(score?.toLocaleString([], { style: "percent" }) ?? "");
  }
  return item;
}

export function makeLink({ label, url }) {
  const link = document.createElement("a");
  if (url) link.href = url;
  if (!/^https?:/.test(link.protocol)) link.removeAttribute("href");
  link.textContent = label || url;
  return link;
}

const CHIP = "a[data-ref-index]";

export function linkChips(answer, book, turn, root) {
  for (const chip of root.querySelectorAll(CHIP)) {
    chip.dataset.refTurn = turn;
    const target = book.target(chip.dataset);
    if (!target) {
      chip.removeAttribute("href");
      continue;
    }
    const { label, url } = target.reference;
    const name = `${answer.dataset.textSource} ${chip.dataset.refIndex}: ${label || url}`;
    chip.setAttribute("href", `#${itemId(answer, target)}`);
    chip.setAttribute("aria-label", name);
  }
}

export function followChip(answer, book, event) {
  const chip = event.target.closest(CHIP);
  if (!chip) return;
  event.preventDefault();
  const { turn, index } = book.target(chip.dataset) ?? {};
  const selector = `[data-ref-turn="${turn}"][data-ref-index="${index}"]`;
  const items = referenceSections(answer).map((section) => section.querySelector(selector));
  const item = items.find((item) => item?.checkVisibility());
  item?.scrollIntoView({ block: "nearest" });
  item?.focus({ preventScroll: true });
}

export function startPreviews(answer, book, signal) {
  const card = role(answer, "preview");
  let timer;
  const update = ({ target, type }) => {
    clearTimeout(timer);
    if (card.contains(target)) return;
    const chip = answer.contains(target) && target.closest(CHIP);
    const found = chip && book.target(chip.dataset);
    if (!found || (type === "focusin" && !chip.matches(":focus-visible"))) {
      timer = setTimeout(() => card.hidePopover(), 250);
      return;
    }
    card.replaceChildren(makeLink(found.reference), "\n", found.reference.quote ?? "");
    card.hidePopover(); // else it stays where it is
    card.showPopover({ source: chip });
  };
  for (const type of card?.showPopover ? ["pointerover", "focusin"] : []) {
    document.addEventListener(type, update, { signal });
  }
}
