"""A local HTTP server that speaks the OpenAI chat protocol, one planned reply per request.

    with OpenAIServer(text("Open from nine."), status(429)) as server:
        ChatOpenAI(base_url=server.base_url, api_key="none", model="any")
        ...
        server.requests[0].body["messages"]

The last reply is repeated. Replies are built with ``text``, ``tool_calls``, ``status`` or raw
``Stream`` steps, so a test can stall, cut or garble a stream wherever it likes.
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """An HTTP error, with the provider's JSON body."""

    code: int
    error: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """Sent as it is, in place of JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A pause; with ``keep_alive_seconds`` a comment line is sent that often."""

    seconds: float
    keep_alive_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes sent as they are."""

    data: bytes


class Cut:
    """The connection is closed without an end of the response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A 200 response. A step is a chunk (dict), ``Wait``, ``Raw`` or ``Cut``."""

    steps: Sequence[Any]
    done: bool = True
    """Whether ``[DONE]`` is sent at the end."""


def chunk(**delta: Any) -> dict[str, Any]:
    """Build one chunk; ``finish_reason`` and ``usage`` go where the protocol has them."""
    reason, usage = delta.pop("finish_reason", None), delta.pop("usage", None)
    choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "local"}
    return {**body, "choices": choices, **({"usage": usage} if usage else {})}


def usage_chunk(usage: dict[str, int] = USAGE) -> dict[str, Any]:
    """Build the last chunk of a stream that reports usage: it has no choices."""
    return {**chunk(), "choices": [], "usage": usage}


def text(
    answer: str, *, delay_seconds: float = 0.0, usage: dict[str, int] | None = USAGE
) -> Stream:
    """Plan a stream of ``answer``, word by word."""
    steps: list[Any] = [chunk(role="assistant", content="")]
    for word in answer.replace(" ", " \0").split("\0"):
        steps += [Wait(seconds=delay_seconds)] if delay_seconds else []
        steps.append(chunk(content=word))
    steps.append(chunk(finish_reason="stop"))
    return Stream(steps=[*steps, *([usage_chunk(usage)] if usage else [])])


def tool_calls(*calls: tuple[str, str], before: str = "") -> Stream:
    """Plan a stream of tool calls ``(name, JSON of arguments)``, the arguments in two pieces."""
    steps = [chunk(role="assistant", content=before or None)]
    for index, (name, arguments) in enumerate(calls):
        half = len(arguments) // 2
        head = {"name": name, "arguments": arguments[:half]}
        call = {"index": index, "id": f"call_{index}", "type": "function", "function": head}
        steps.append(chunk(tool_calls=[call]))
        rest = {"index": index, "function": {"arguments": arguments[half:]}}
        steps.append(chunk(tool_calls=[rest]))
    return Stream(steps=[*steps, chunk(finish_reason="tool_calls"), usage_chunk()])


def status(code: int, /, *, headers: dict[str, str] | None = None, **error: Any) -> Status:
    """Plan an error response; ``error`` are fields of its ``error`` object."""
    return Status(code=code, headers=headers or {}, error={"message": "planned"} | error)


@dataclass(slots=True, kw_only=True)
class Request:
    """What the server got, and how the connection ended."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float
    """Monotonic seconds."""
    disconnected_at: float | None = None
    """When the client was seen to have gone before the reply's end."""


class OpenAIServer:
    """The server; a context manager. Thread-safe, on a free port of the loopback interface."""

    def __init__(self, *replies: Status | Stream) -> None:
        self.replies = list(replies) or [text("Hello.")]
        self.requests: list[Request] = []
        self.gone = threading.Event()
        """Set when a client has left before the end of a reply."""
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.plan = self

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> OpenAIServer:
        # A short poll, so that leaving takes no half second in every test.
        serve = {"poll_interval": 0.02}
        threading.Thread(target=self._server.serve_forever, kwargs=serve, daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def take(self, request: Request) -> Status | Stream:
        with self._lock:
            self.requests.append(request)
            return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    plan: OpenAIServer

    def __init__(self, *args: Any) -> None:
        self.closing = threading.Event()
        super().__init__(*args)

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients leave; that is noted, not printed


class _Gone(Exception):
    pass


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(path=self.path, headers=headers, body=body, at=time.monotonic())
        reply = self.server.plan.take(request)
        if isinstance(reply, Status):
            self._fail(reply)
            return
        try:
            self._stream(reply)
        except (_Gone, OSError):
            request.disconnected_at = time.monotonic()
            self.close_connection = True
            self.server.plan.gone.set()

    def _fail(self, reply: Status) -> None:
        body = reply.body if reply.body is not None else json.dumps({"error": reply.error}).encode()
        self.send_response(reply.code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, reply: Stream) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for step in reply.steps:
            if isinstance(step, Wait):
                self._wait(step)
            elif isinstance(step, Raw):
                self._send(step.data)
            elif isinstance(step, Cut) or step is Cut:
                self.close_connection = True
                return
            else:
                self._send(b"data: " + json.dumps(step).encode() + b"\n\n")
        if reply.done:
            self._send(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _wait(self, step: Wait) -> None:
        end = time.monotonic() + step.seconds
        next_comment = time.monotonic() + (step.keep_alive_seconds or step.seconds)
        while (now := time.monotonic()) < end:
            self._notice_leaving()
            if step.keep_alive_seconds and now >= next_comment:
                self._send(b": still here\n\n")
                next_comment = now + step.keep_alive_seconds
            time.sleep(min(0.02, end - now) if end > now else 0)

    def _notice_leaving(self) -> None:
        if self.server.closing.is_set():
            raise _Gone
        readable, _, _ = select.select([self.connection], [], [], 0)
        if readable and not self.connection.recv(1, socket.MSG_PEEK):
            raise _Gone
