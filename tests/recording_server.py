"""A local HTTP server that takes every POST, keeps it, and answers as planned.

with RecordingServer() as server:
    ...  # let something post to server.url
    server.requests[0].body
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


class RecordingServer:
    """The server; a context manager, on a free port of the loopback interface.

    ``statuses``: one a request, the last is repeated. ``wait_seconds`` before each answer.
    """

    def __init__(self, *statuses: int, wait_seconds: float = 0.0) -> None:
        self.statuses = list(statuses) or [200]
        self.wait_seconds = wait_seconds
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.plan = self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def to(self, path: str) -> list[Request]:
        return [request for request in self.requests if request.path == path]

    def wait_for(self, path: str, count: int = 1, *, seconds: float = 10) -> list[Request]:
        """Return the requests to ``path`` once there are ``count``."""
        wait_until(lambda: len(self.to(path)) >= count, seconds=seconds)
        return self.to(path)

    def take(self, request: Request) -> int:
        with self._lock:
            self.requests.append(request)
            return self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]

    def __enter__(self) -> RecordingServer:
        serve = {"poll_interval": 0.02}
        threading.Thread(target=self._server.serve_forever, kwargs=serve, daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.shutdown()
        self._server.server_close()


def wait_until(condition: Callable[[], bool], *, seconds: float = 10) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "It did not happen in time."
        time.sleep(0.02)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        plan = self.server.plan
        status = plan.take(Request(path=self.path, headers=headers, body=body))
        time.sleep(plan.wait_seconds)
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", f"{plan.url}/elsewhere")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
