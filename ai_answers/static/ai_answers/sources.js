/** <ai-answers-sources>: its section is filled by the Answer block. */
import { role } from "./parts.js";

export class SourcesElement extends HTMLElement {
  connectedCallback() {
    const target = role(this, "references").dataset.aiAnswersSourcesTarget;
    document.getElementById(target)?.showReferences?.();
  }
}
