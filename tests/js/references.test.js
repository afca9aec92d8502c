import assert from "node:assert/strict";
import { test } from "node:test";

import { ReferenceBook, referenceKey } from "../../ai_answers/static/ai_answers/references.js";

const reference = (id, index) => ({ key: `page:${id}`, label: `Page ${id}`, url: `/${id}/`, ...(index && { index }) });
const chip = (refTurn, refIndex) => ({ refTurn: String(refTurn), refIndex: String(refIndex) });
const cards = (book) => book.items().map(({ turn, index, key }) => [turn, index, key]);

test("a key is the object, else the URL, else the label (S106, S109)", () => {
  const all = { entity_type: "page", entity_id: "3", url: "/a/", label: "A" };
  assert.equal(referenceKey({ ...all, key: "given" }), "given");
  assert.equal(referenceKey(all), "page:3");
  assert.equal(referenceKey({ url: "/a/", label: "A" }), "/a/");
  assert.equal(referenceKey({ label: "A" }), "A");
  assert.ok(!referenceKey({}));
});

test("what was found waits behind what is cited, in order of citation (S60, S65)", () => {
  const book = new ReferenceBook();
  book.add(1, [reference(1), reference(2), reference(3)]);
  assert.deepEqual(cards(book).map(([, index]) => index), [undefined, undefined, undefined]);
  book.cite(1, 1, "page:3");
  book.cite(1, 2, "page:1");
  assert.deepEqual(cards(book), [[1, 1, "page:3"], [1, 2, "page:1"], [1, undefined, "page:2"]]);
});

test("the final references replace the turn's own, and only those (S64, S103)", () => {
  const book = new ReferenceBook();
  book.replace(1, [reference(1, 1)]);
  book.add(2, [reference(2), reference(3), reference(4)]);
  book.cite(2, 1, "page:2");
  book.cite(2, 2, "page:3");
  book.replace(2, [reference(3, 1)]);
  assert.deepEqual(cards(book), [[1, 1, "page:1"], [2, 1, "page:3"]]);
});

test("a chip leads nowhere until its reference is there (G04)", () => {
  const book = new ReferenceBook();
  book.cite(1, 1, "page:2");
  assert.equal(book.target(chip(1, 1)), undefined);
  assert.deepEqual(book.items(), []);
  book.add(1, [reference(2)]);
  assert.equal(book.target(chip(1, 1)).reference.label, "Page 2");
  assert.equal(book.target(chip(1, 2)), undefined);
});

test("a source found again keeps its first card, and its chip leads there (S106-S108)", () => {
  const book = new ReferenceBook();
  book.replace(1, [reference(1, 1), reference(2, 2)]);
  book.replace(2, [reference(3, 1), reference(2, 2)]);
  assert.deepEqual(cards(book), [[1, 1, "page:1"], [1, 2, "page:2"], [2, 1, "page:3"]]);
  const { turn, index } = book.target(chip(2, 2));
  assert.deepEqual([turn, index], [1, 2]);
  assert.deepEqual(book.cited(2).map(({ label, index }) => [label, index]), [["Page 3", 1], ["Page 2", 2]]);
});

test("references without any identity are never taken for one another (S106)", () => {
  const book = new ReferenceBook();
  book.replace(1, [{ index: 1 }]);
  book.replace(2, [{ index: 1 }]);
  assert.equal(book.items().length, 2);
});

test("a new question forgets all (S104, S107)", () => {
  const book = new ReferenceBook();
  book.replace(1, [reference(1, 1)]);
  book.clear();
  book.replace(1, [reference(1, 1)]);
  assert.deepEqual(cards(book), [[1, 1, "page:1"]]);
  assert.deepEqual(book.target(chip(1, 1)).turn, 1);
});
