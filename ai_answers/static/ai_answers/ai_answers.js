import { AnswerElement } from "./answer.js";
import { QuestionElement } from "./question.js";
import { SourcesElement } from "./sources.js";

customElements.define("ai-answers-answer", AnswerElement);
customElements.define("ai-answers-question", QuestionElement);
customElements.define("ai-answers-sources", SourcesElement);
