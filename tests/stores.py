"""Real servers of other makers: Chroma for vectors, an OpenSearch for words. Both from packages."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

STARTS_IN_SECONDS = 60


_session = ExitStack()
atexit.register(_session.close)


@cache
def running(server: Callable[[], AbstractContextManager[int]]) -> int:
    """Start a server for the whole session, once; return its port."""
    return _session.enter_context(server())


def missing(*packages: str) -> str:
    """Say which package is lacking; empty when none."""
    return next((f"{name} is not installed" for name in packages if find_spec(name) is None), "")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def chroma() -> Iterator[int]:
    """Run a Chroma server; gives its port."""
    port, folder = free_port(), tempfile.mkdtemp(prefix="ai_answers_chroma_")
    program = Path(sys.executable).with_name("chroma")
    command = [str(program), "run", "--path", folder, "--host", "127.0.0.1", "--port", str(port)]
    try:
        with _running(command, f"http://127.0.0.1:{port}/api/v2/heartbeat"):
            yield port
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def opensearch() -> Iterator[int]:
    """Run a server that speaks OpenSearch's protocol; gives its port."""
    port = free_port()
    command = _opensearch_command(port)
    with _running(command, f"http://127.0.0.1:{port}/"):
        yield port


def _opensearch_command(port: int) -> list[str]:
    import osmem_server

    program = Path(osmem_server.__file__).parent / "bin" / "osmem-server"
    return [
        *(str(program), "-addr", f"127.0.0.1:{port}"),
        *("-no-stdin-watch", "-parent-pid", str(os.getpid())),
    ]


@contextmanager
def _running(command: list[str], url: str) -> Iterator[None]:
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "ANONYMIZED_TELEMETRY": "False", "DO_NOT_TRACK": "1"},
    )
    try:
        _wait(process, url)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def _wait(process: subprocess.Popen, url: str) -> None:
    end = time.monotonic() + STARTS_IN_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode}.")
        try:
            with urlopen(url, timeout=2):
                return
        except (URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"{process.args!r} did not answer in {STARTS_IN_SECONDS} s.")
