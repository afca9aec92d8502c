/** Endpoints, and a run's frames over as many connections as it takes. No DOM. */
export class Refusal extends Error {}

export class FrameParser {
  lastId = "";
  retryMs = 1000;
  #rest = "";
  #fields = {};
  #afterReturn = false;

  push(text) {
    if (this.#afterReturn && text[0] === "\n") text = text.slice(1);
    if (text) this.#afterReturn = text.endsWith("\r");
    const lines = (this.#rest + text).split(/\r\n|\r|\n/);
    this.#rest = lines.pop();
    return lines.map((line) => this.#line(line)).filter(Boolean);
  }

  #line(line) {
    const fields = this.#fields;
    if (line) {
      const [, name, value = ""] = /^(.*?)(?:: ?(.*))?$/s.exec(line);
      if (name === "data" && "data" in fields) fields.data += `\n${value}`;
      else if (name !== "id" || !value.includes("\0")) fields[name] = value;
      if (name === "retry" && /^\d+$/.test(value)) this.retryMs = Number(value);
      return null;
    }
    this.#fields = {};
    this.lastId = fields.id ?? this.lastId;
    return fields.data && { kind: fields.event, data: JSON.parse(fields.data) };
  }
}

/** Yield frames `{ kind, data }` up to the last; `open(lastId)` fetches again after a drop. */
export async function* readFrames(open, { signal, wait = pause } = {}) {
  const parser = new FrameParser();
  for (let failures = 0; failures < 7; ) {
    try {
      const response = await open(parser.lastId);
      if (response.status === 204) return;
      if (!parser.lastId || response.status < 500) await expect(response, "text/event-stream");
      for await (const text of readText(response.body)) {
        for (const frame of parser.push(text)) {
          if (signal?.aborted) return;
          failures = 0;
          yield frame;
          if (["done", "stopped", "error"].includes(frame.kind)) return;
        }
      }
    } catch (error) {
      if (error instanceof Refusal) throw error;
    }
    if (signal?.aborted) return;
    yield { kind: "status", data: { phase: "reconnecting" } };
    await wait(Math.min(parser.retryMs * 2 ** failures++, 8000));
  }
  throw Object.assign(new Refusal(), { code: "connection", retryable: true });
}

async function expect(response, type) {
  const { headers, ok, status } = response;
  if (ok && headers.get("Content-Type")?.startsWith(type)) return;
  const { error } = await response.json().catch(() => ({}));
  const retryable = status >= 500 || status === 429 || error?.code === "turn_in_progress";
  const retryAfter = Number(headers.get("Retry-After"));
  throw Object.assign(new Refusal(), { retryable, retryAfter, ...error });
}

async function* readText(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const cancel = () => reader.cancel().catch(() => {});
  try {
    for (;;) {
      const stall = setTimeout(cancel, 60_000);
      const { done, value } = await reader.read().finally(() => clearTimeout(stall));
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    cancel();
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Siblings of `base`, the URL of the question endpoint. */
export class Api {
  #base;
  #header;
  #session;

  constructor(base, header) {
    this.#base = base;
    this.#header = header;
  }

  fetch(path, options) {
    return fetch(new URL(path, this.#base), options);
  }

  async get(path) {
    const response = await this.fetch(path);
    await expect(response, "application/json");
    return response.json();
  }

  async post(path, body, signal) {
    this.#session ??= await this.get("session"); // a cached page carries no CSRF token
    return this.fetch(path, {
      method: "POST",
      body: JSON.stringify(body ?? {}),
      headers: {
        Accept: "text/event-stream, application/json",
        "Content-Type": "application/json",
        [this.#header]: this.#session.csrf_token,
      },
      signal,
    });
  }
}
