import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

globalThis.HTMLElement ??= class {};
const { dispatchAsk, readHandoff, remember } = await import(
  "../../ai_answers/static/ai_answers/question.js"
);

const QUESTION = "Wie viel? 100 % & mehr: #1";

beforeEach(() => {
  const stored = new Map();
  globalThis.sessionStorage = {
    getItem: (key) => stored.get(key) ?? null,
    setItem: (key, value) => stored.set(key, String(value)),
    removeItem: (key) => stored.delete(key),
  };
  const went = [];
  globalThis.location = { origin: "https://site.example", assign: (url) => went.push(url), went };
  globalThis.document = Object.assign(new EventTarget(), {
    baseURI: "https://site.example/page/",
    getElementById: () => null,
  });
});

test("an Answer block on the page is asked itself (S83, S84)", () => {
  const asked = [];
  document.getElementById = (id) => (id === "main" ? { ask: (question) => asked.push(question) } : null);
  assert.equal(dispatchAsk("main", QUESTION, "/ask/"), true);
  assert.deepEqual([asked, location.went], [[QUESTION], []]);
});

test("else an event is fired, and who takes it prevents the rest (S84)", () => {
  document.addEventListener("ai-answers:ask", (event) => {
    assert.deepEqual(event.detail, { target: "main", question: QUESTION });
    event.preventDefault();
  });
  assert.equal(dispatchAsk("main", QUESTION, "/ask/"), true);
  assert.deepEqual(location.went, []);
});

test("else the tab goes to the page of the block, with its own mark (D56)", () => {
  const taken = dispatchAsk("main", QUESTION, "/ask/");
  const [url] = location.went;
  assert.equal(taken, url);
  assert.equal(url.pathname, "/ask/");
  assert.deepEqual(readHandoff(url.hash), { target: "main", question: QUESTION, isOwn: true });
  remember("handoff", null);
  assert.equal(readHandoff(url.hash).isOwn, false);
});

test("without a page of this site nobody takes it", () => {
  for (const url of [undefined, "", "//other.example/", "https://other.example/ask/", "javascript:x"]) {
    assert.equal(dispatchAsk("main", QUESTION, url), false, String(url));
  }
  assert.deepEqual(location.went, []);
});

test("a fragment that is something else, or broken, is none", () => {
  for (const hash of ["", "#top", "#ai-answers-ask=%E0%A4%A"]) {
    assert.equal(readHandoff(hash).target, undefined, hash);
  }
});

test("without storage nothing is remembered, and nothing breaks", () => {
  globalThis.sessionStorage = undefined;
  assert.equal(remember("main", "id"), null);
  assert.equal(readHandoff("#ai-answers-ask=main:x").isOwn, false);
});
