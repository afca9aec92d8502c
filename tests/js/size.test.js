import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const FOLDER = new URL("../../ai_answers/static/ai_answers/", import.meta.url);
// What pages of the site get; the folder of the admin is another matter.
const files = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ name }) => [name, readFileSync(new URL(name, FOLDER), "utf8")]);

test("all that is sent to the page is at most 12 KB, each file gzipped on its own", () => {
  const bytes = files.reduce((sum, [, text]) => sum + gzipSync(text).length, 0);
  assert.ok(files.length >= 8, "the files are somewhere else");
  assert.ok(bytes <= 12 * 1024, `${bytes} bytes`);
});

test("every import ends in a semicolon, so that hashed names are written into it", () => {
  for (const [name, text] of files.filter(([name]) => name.endsWith(".js"))) {
    for (const [statement] of text.matchAll(/^import\b.*$/gm)) assert.match(statement, /";$/, name);
    for (const [, file] of text.matchAll(/from "\.\/([^"]+)"/g)) {
      assert.ok(files.some(([other]) => other === file), `${name} imports ${file}`);
    }
  }
});

test("text becomes HTML in one place, and nothing runs from text", () => {
  const sinks = /innerHTML\s*=|setHTML|insertAdjacentHTML|outerHTML|document\.write|\beval\b|new Function|srcdoc/;
  const users = files.filter(([name, text]) => name.endsWith(".js") && sinks.test(text));
  assert.deepEqual(users.map(([name]) => name), ["parts.js"]);
});

test("the stylesheet keeps to its layer, and to properties for colours", () => {
  const css = files.find(([name]) => name === "ai_answers.css")[1];
  assert.match(css, /^(\/\*.*\*\/\n)?@layer ai-answers \{/);
  const [, root] = /:root \{([^}]*)\}/.exec(css);
  const rest = css.replace(root, "");
  assert.doesNotMatch(rest.replace("#0003", ""), /#[0-9a-f]{3,8}\b|\brgb|\bhsl/i);
  assert.doesNotMatch(rest, /(margin|padding|border)-(left|right)|text-align: (left|right)/);
  assert.match(css, /prefers-reduced-motion/);
  assert.match(css, /@media print/);
});
