import assert from "node:assert/strict";
import { test } from "node:test";

import { Element } from "./dom.js";
import { Parts } from "../../ai_answers/static/ai_answers/parts.js";

const CHIP = '<sup class="ai-answers-citation"><bdi><a data-ref-index="1">1</a></bdi></sup>';

function answer() {
  const root = new Element("section");
  return { root, parts: new Parts(root), html: () => root.elements.map((part) => part.innerHTML) };
}

test("a part is added and grows", () => {
  const { parts, html } = answer();
  parts.apply({ index: 0, html: "<p>One</p>" });
  parts.apply({ index: 0, html: "<p>One <strong>two</strong></p>" });
  parts.apply({ index: 1, html: "<hr></hr>" });

  assert.deepEqual(html(), ["<p>One <strong>two</strong></p>", "<hr></hr>"]);
});

test("text that is shown already keeps its node while its part grows (S95, S96, H12)", () => {
  const { root, parts, html } = answer();
  parts.apply({ index: 0, html: "<p>The card <em>costs</em> twelve</p>" });
  const [text, emphasis, tail] = root.firstElementChild.firstElementChild.childNodes;
  const inside = emphasis.firstChild;
  parts.apply({ index: 0, html: "<p>The card <em>costs</em> twelve euros <strong>a year</strong></p>" });
  const now = root.firstElementChild.firstElementChild.childNodes;

  assert.equal(now[0], text);
  assert.equal(now[1].firstChild, inside);
  assert.equal(now[2], tail);
  assert.equal(tail.data, " twelve euros ");
  assert.deepEqual(html(), ["<p>The card <em>costs</em> twelve euros <strong>a year</strong></p>"]);
});

test("markup that turns out otherwise is corrected", () => {
  const { parts, html } = answer();
  for (const part of ["<p>a **b</p>", "<p>a <strong>b</strong></p>", "<h4>a</h4>", "<ul><li>a</li></ul>"]) {
    parts.apply({ index: 0, html: part });
    assert.deepEqual(html(), [part]);
  }
});

test("a chip keeps what the client added to it", () => {
  const { root, parts } = answer();
  parts.apply({ index: 0, html: `<p>Twelve${CHIP}</p>` });
  const chip = root.querySelector("a");
  chip.attributes.href = "#card";
  parts.apply({ index: 0, html: `<p>Twelve${CHIP} euros</p>` });

  assert.equal(root.querySelector("a"), chip);
  assert.equal(chip.attributes.href, "#card");
});

test("a chip does not take over a link, nor another number", () => {
  const { parts, html } = answer();
  const forms = ['<p><a href="/x">1</a></p>', "<p><a data-ref-index=\"1\">1</a></p>", "<p><a data-ref-index=\"2\">2</a></p>"];
  for (const form of forms) {
    parts.apply({ index: 0, html: form });
    assert.deepEqual(html(), [form]);
  }
});

test("list items and table rows are replaced and added by path", () => {
  const { root, parts, html } = answer();
  parts.apply({ index: 0, html: "<ul><li>one</li></ul>" });
  const first = root.querySelector("li").firstChild;
  parts.apply({ index: 0, child: [1], html: "<li>tw</li>" });
  parts.apply({ index: 0, child: [1], html: "<li>two<ol><li>a</li></ol></li>" });
  parts.apply({ index: 0, child: [1, 0, 1], html: "<li>b</li>" });
  parts.apply({ index: 1, html: "<table><thead><tr><th>h</th></tr></thead><tbody></tbody></table>" });
  parts.apply({ index: 1, child: [1, 0], html: "<tr><td>1</td></tr>" });

  assert.equal(root.querySelector("li").firstChild, first);
  assert.deepEqual(html(), [
    "<ul><li>one</li><li>two<ol><li>a</li><li>b</li></ol></li></ul>",
    "<table><thead><tr><th>h</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>",
  ]);
});

test("text is appended to code, never read as markup", () => {
  const { root, parts, html } = answer();
  parts.apply({ index: 0, html: "<pre><code>a</code></pre>" });
  const text = root.querySelector("code").firstChild;
  parts.apply({ index: 0, append: "<b>" });
  parts.apply({ index: 1, html: "<pre><code></code></pre>" });
  parts.apply({ index: 1, append: "x" });

  assert.equal(root.querySelector("code").firstChild, text);
  assert.deepEqual(html(), ["<pre><code>a&lt;b&gt;</code></pre>", "<pre><code>x</code></pre>"]);
});

test("empty HTML removes", () => {
  const { parts, html } = answer();
  parts.apply({ index: 0, html: "<ul><li>a</li><li>b</li></ul>" });
  parts.apply({ index: 0, child: [0], html: "" });
  assert.deepEqual(html(), ["<ul><li>b</li></ul>"]);
  parts.apply({ index: 0, html: "" });
  assert.deepEqual(html(), [""]);
});

test("a snapshot replaces all, and what is equal stays where it is", () => {
  const { root, parts, html } = answer();
  parts.apply({ index: 0, html: "<p>kept</p>" });
  parts.apply({ index: 1, html: "<p>old</p>" });
  parts.apply({ index: 2, html: "<p>gone</p>" });
  const kept = root.querySelector("p").firstChild;
  parts.snapshot(["<p>kept</p>", "<p>new</p>"]);

  assert.equal(root.querySelector("p").firstChild, kept);
  assert.deepEqual(html(), ["<p>kept</p>", "<p>new</p>"]);
});

test("a child of a part that never came is left out", () => {
  const { parts, html } = answer();
  parts.apply({ index: 0, child: [0], html: "<li>a</li>" });
  assert.deepEqual(html(), [""]);
});
