import assert from "node:assert/strict";
import { test } from "node:test";

import { Api, FrameParser, readFrames, Refusal } from "../../ai_answers/static/ai_answers/wire.js";

const TYPE = { headers: { "Content-Type": "text/event-stream; charset=utf-8" } };
const frame = (id, kind, data) => `id: ${id}\nevent: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;
const now = async () => {};

function body(...pieces) {
  const encode = (piece) => (typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
  return ReadableStream.from(pieces.map(encode));
}

async function collect(open, options = {}) {
  const frames = [];
  for await (const frame of readFrames(open, { wait: now, ...options })) frames.push(frame);
  return frames;
}

const kinds = (frames) => frames.map(({ kind, data }) => data.phase ?? kind);

const STREAM =
  'retry: 250\r\n\r\n: heartbeat\n\nid: 1\nevent: turn\ndata: {"run":"r"}\n\n' +
  'id:2\revent:part\rdata:{"html":\rdata: "Größe € 𝄞 : x"}\r\r' +
  'event: unknown\nid: 3\nother: field\ndata: {}\n\nid: 4\r\nevent: done\r\ndata: {"text":"a: b"}\r\n\r\n';
const EXPECTED = [
  { kind: "turn", data: { run: "r" } },
  { kind: "part", data: { html: "Größe € 𝄞 : x" } },
  { kind: "unknown", data: {} },
  { kind: "done", data: { text: "a: b" } },
];

test("frames are the same however their text is cut", () => {
  for (let cut = 0; cut <= STREAM.length; cut += 1) {
    const parser = new FrameParser();
    const frames = [...parser.push(STREAM.slice(0, cut)), ...parser.push(STREAM.slice(cut))];
    assert.deepEqual(frames, EXPECTED, `cut at ${cut}`);
  }
  const parser = new FrameParser();
  assert.deepEqual([...STREAM].flatMap((piece) => parser.push(piece)), EXPECTED);
  assert.equal(parser.lastId, "4");
  assert.equal(parser.retryMs, 250);
});

test("bytes may be cut inside a character", async () => {
  const bytes = new TextEncoder().encode(STREAM);
  const cuts = [...bytes].map((_, place) => bytes.subarray(place, place + 1));
  assert.deepEqual(await collect(async () => new Response(body(...cuts), TYPE)), EXPECTED);
});

test("an unfinished frame is not a frame, and an id with NUL is none", () => {
  const parser = new FrameParser();
  assert.deepEqual(parser.push('id: 7\ndata: {}\n\nid: 8\0\ndata: 1\n\nid: 9\ndata: {"a"'), [
    { kind: undefined, data: {} },
    { kind: undefined, data: 1 },
  ]);
  assert.equal(parser.lastId, "7");
});

test("after a drop the stream goes on behind the last frame seen", async () => {
  const seen = [];
  const frames = await collect(async (lastId) => {
    seen.push(lastId);
    if (seen.length === 1) return new Response(body(frame(1, "turn", {}), frame(2, "part", {}), "id: 3\n"), TYPE);
    if (seen.length === 2) throw new TypeError("network");
    if (seen.length === 3) return new Response("bad gateway", { status: 502 });
    return new Response(body(frame(3, "done", {})), TYPE);
  });

  assert.deepEqual(seen, ["", "2", "2", "2"]);
  assert.deepEqual(kinds(frames), [
    "turn", "part", "reconnecting", "reconnecting", "reconnecting", "done",
  ]);
});

test("waiting grows with each failure and starts anew after a frame", async () => {
  const waits = [];
  const wait = async (ms) => waits.push(ms);
  let calls = 0;
  await collect(
    async () => {
      calls += 1;
      if (calls === 4) return new Response(body(frame(1, "part", {})), TYPE);
      if (calls === 6) return new Response(body(frame(2, "done", {})), TYPE);
      throw new TypeError("network");
    },
    { wait },
  );
  assert.deepEqual(waits, [1000, 2000, 4000, 1000, 2000]);
});

test("the stream ends with its last frame, whatever follows", async () => {
  for (const last of ["done", "stopped", "error"]) {
    const open = async () => new Response(body(frame(1, last, {}) + frame(2, "part", {})), TYPE);
    assert.deepEqual(kinds(await collect(open)), [last]);
  }
});

test("204 ends without a last frame: it was delivered before", async () => {
  assert.deepEqual(await collect(async () => new Response(null, { status: 204 })), []);
});

test("what the server refuses is thrown with its text, and not tried again", async () => {
  let calls = 0;
  const refuse = async () => {
    calls += 1;
    const headers = { "Content-Type": "application/json", "Retry-After": "7" };
    const error = { code: "throttled", message: "Please wait." };
    return new Response(JSON.stringify({ error }), { status: 429, headers });
  };
  await assert.rejects(collect(refuse), (error) => {
    assert.ok(error instanceof Refusal);
    const { code, message, retryable, retryAfter } = error;
    assert.deepEqual({ code, message, retryable, retryAfter }, {
      code: "throttled", message: "Please wait.", retryable: true, retryAfter: 7,
    });
    return true;
  });
  assert.equal(calls, 1);
});

test("only what may pass by itself is worth another try", async () => {
  const cases = [
    [403, "permission_denied", false], [409, "agent_not_usable", false], [400, "invalid", false],
    [409, "turn_in_progress", true], [429, "busy", true], [500, "failed", true],
  ];
  for (const [status, code, isRetryable] of cases) {
    const headers = { "Content-Type": "application/json" };
    const refuse = async () => new Response(JSON.stringify({ error: { code } }), { status, headers });
    await assert.rejects(collect(refuse), (error) => error.code === code && error.retryable === isRetryable);
  }
});

test("a page in place of a stream is a refusal too", async () => {
  const login = async () => new Response("<html>", { headers: { "Content-Type": "text/html" } });
  await assert.rejects(collect(login), (error) => error instanceof Refusal && !error.retryable);
});

test("a connection that never comes is given up", async () => {
  await assert.rejects(
    collect(async () => {
      throw new TypeError("network");
    }),
    (error) => error.code === "connection" && error.retryable,
  );
});

test("an abort ends silently", async () => {
  const controller = new AbortController();
  const open = async () => new Response(body(frame(1, "turn", {}), frame(2, "part", {})), TYPE);
  const frames = [];
  for await (const one of readFrames(open, { signal: controller.signal, wait: now })) {
    frames.push(one);
    controller.abort();
  }
  assert.deepEqual(kinds(frames), ["turn"]);
});

test("the CSRF token is fetched once and sent in the site's header", async (t) => {
  const calls = [];
  t.mock.method(globalThis, "fetch", async (url, options = {}) => {
    calls.push([url.pathname, options.headers?.["X-Token"], options.body]);
    return Response.json({ csrf_token: "secret" });
  });
  const api = new Api(new URL("https://site.example/de/ai-answers/question"), "X-Token");
  await api.post("question", { question: "?" });
  await api.post("runs/1/stop");

  assert.deepEqual(calls, [
    ["/de/ai-answers/session", undefined, undefined],
    ["/de/ai-answers/question", "secret", '{"question":"?"}'],
    ["/de/ai-answers/runs/1/stop", "secret", "{}"],
  ]);
});
