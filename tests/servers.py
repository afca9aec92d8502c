"""Real server processes for tests: uvicorn, gunicorn with threads and workers, runserver."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from .sse import SentFrame, parse

ROOT = Path(__file__).parent.parent

COMMANDS = {
    "uvicorn": ["-m", "uvicorn", "tests.site.asgi:application", "--port", "{port}",
                "--log-level", "warning", "--timeout-graceful-shutdown", "2"],
    "gunicorn": ["-m", "gunicorn", "tests.site.wsgi:application", "--bind", "127.0.0.1:{port}",
                 "--workers", "3", "--threads", "4", "--log-level", "warning",
                 "--graceful-timeout", "8"],
    "runserver": ["-m", "django", "runserver", "127.0.0.1:{port}", "--noreload"],
}  # fmt: skip


@dataclass
class Site:
    """A running site and a visitor with a CSRF token."""

    base_url: str
    process: subprocess.Popen
    client: httpx.Client

    @contextmanager
    def ask(self, question: str = "When do parcels leave the depot?", **body) -> Iterator:
        """Stream an answer; yields ``(response, frames)``."""
        body = {"agent": "depot", "question": question} | body
        headers = {"Accept": "text/event-stream", "X-CSRFToken": self.token}
        with self.client.stream("POST", "/ai-answers/question", json=body, headers=headers) as r:
            yield r, parse(r.iter_lines())

    @contextmanager
    def resume(self, run: str, last_seen: int) -> Iterator:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(last_seen)}
        # A new connection each time, so that any worker may get it.
        with (
            httpx.Client(base_url=self.base_url, timeout=20) as client,
            client.stream("GET", f"/ai-answers/runs/{run}/events", headers=headers) as r,
        ):
            yield r, parse(r.iter_lines())

    def post(self, path: str, body: dict | None = None) -> httpx.Response:
        headers = {"X-CSRFToken": self.token}
        with httpx.Client(
            base_url=self.base_url, cookies=self.client.cookies, timeout=20
        ) as client:
            return client.post(f"/ai-answers/{path}", json=body or {}, headers=headers)

    @property
    def token(self) -> str:
        if not getattr(self, "_token", ""):
            self._token = self.client.get("/ai-answers/session").json()["csrf_token"]
        return self._token


def environment(database: Path, model_url: str, **extra: str) -> dict[str, str]:
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.server_settings",
        "SITE_DATABASE": str(database),
        "SITE_MODEL_URL": model_url,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "PYTHONUNBUFFERED": "1",
    } | extra  # fmt: skip


def fill(database: Path) -> None:
    """Create the database of a site."""
    subprocess.run(
        [sys.executable, "-m", "django", "fill_site"],
        env=environment(database, "http://127.0.0.1:9/v1"),
        cwd=ROOT,
        check=True,
    )


@contextmanager
def serve(kind: str, database: Path, model_url: str, **extra: str) -> Iterator[Site]:
    """Start a server and wait until it answers; ends it, and all its workers, after."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, *(part.format(port=port) for part in COMMANDS[kind])]
    process = subprocess.Popen(
        command, env=environment(database, model_url, **extra), cwd=ROOT, start_new_session=True
    )
    base_url = f"http://127.0.0.1:{port}"
    try:
        with httpx.Client(base_url=base_url, timeout=20) as client:
            _wait_until_up(client, process)
            yield Site(base_url, process, client)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait_until_up(client: httpx.Client, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"The server ended with {process.returncode}.")
        try:
            client.get("/ai-answers/session")
            return
        except httpx.TransportError:
            time.sleep(0.1)
    raise RuntimeError("The server did not come up.")


def text_of(frames: list[SentFrame]) -> str:
    """Put together what a Markdown reader has seen: tokens, or a snapshot and what follows."""
    text = ""
    for frame in frames:
        if frame.kind == "snapshot":
            text = frame.data["text"]
        elif frame.kind == "token":
            text += frame.data["text"]
    return text
