/** <ai-answers-question>: hands questions to an Answer block, here or on another page. */
import { role } from "./parts.js";

const FRAGMENT = "#ai-answers-ask=";

/** A tab's memory; `null` deletes. */
export function remember(name, value) {
  const key = `ai-answers:${name}`;
  try {
    if (value) sessionStorage.setItem(key, value);
    else if (value === null) sessionStorage.removeItem(key);
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}

export function readHandoff(hash) {
  if (!hash.startsWith(FRAGMENT)) return {};
  const isOwn = remember("handoff") === hash;
  try {
    const [target, question] = hash.slice(FRAGMENT.length).split(":").map(decodeURIComponent);
    return { target, question, isOwn };
  } catch {
    return {};
  }
}

/** True, or the page it went to; else nobody took it. */
export function dispatchAsk(target, question, targetUrl) {
  const answer = document.getElementById(target);
  if (answer?.ask) {
    answer.ask(question);
    return true;
  }
  const detail = { target, question };
  const event = new CustomEvent("ai-answers:ask", { cancelable: true, detail });
  if (!document.dispatchEvent(event)) return true;
  const url = targetUrl && new URL(targetUrl, document.baseURI);
  if (url?.origin !== location.origin) return false;
  url.hash = FRAGMENT + [target, question].map(encodeURIComponent).join(":");
  remember("handoff", url.hash);
  location.assign(url);
  return url;
}

export class QuestionElement extends HTMLElement {
  connectedCallback() {
    const { target, targetUrl } = this.dataset;
    role(this, "warning")?.toggleAttribute("hidden", document.getElementById(target));
    this.onsubmit = (event) => {
      const field = role(this, "field");
      field.value = event.submitter?.value || field.value;
      const taken = dispatchAsk(target, field.value, targetUrl);
      if (taken === true) field.value = "";
      return !taken;
    };
  }

  disconnectedCallback() {
    this.onsubmit = null;
  }
}
