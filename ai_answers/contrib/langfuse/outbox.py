"""Bodies that leave by POST, one after another, while nobody waits.

In: JSON bodies. Out: requests, in order, each tried twice. Holds back at most ``MOST_WAITING``;
what comes on top is dropped, and so is what two tries did not bring away; both are logged without
what they said. At exit the rest has ``EXIT_SECONDS``. Test it with a server that answers well and
badly.
"""

from __future__ import annotations

import atexit
import json
import logging
import queue
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

logger = logging.getLogger(__name__)

MOST_WAITING = 1_000
TRIES = 2
PAUSE_SECONDS = 1.0
EXIT_SECONDS = 5.0


class _StayHere(HTTPRedirectHandler):
    """Follow no redirect: it would take the key to another host."""

    def redirect_request(self, *arguments: Any, **named: Any) -> None:
        return None


_open = build_opener(_StayHere).open


class Outbox:
    """Sends to ``url``; safe from any thread. For one process: its thread survives no fork."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        timeout_seconds: float,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._url = url
        self._headers = {**headers, "Content-Type": "application/json"}
        self._timeout_seconds = timeout_seconds
        self._waiting: queue.Queue[dict[str, Any]] = queue.Queue(most_waiting)
        self._lock = threading.Lock()
        self._is_working = False

    def put(self, body: dict[str, Any]) -> None:
        """Take ``body``; it leaves in the background."""
        self._ensure_thread()
        try:
            self._waiting.put_nowait(body)
        except queue.Full:
            most = self._waiting.maxsize
            logger.warning("%d wait for %s already; one was dropped.", most, self._url)

    def flush(self, seconds: float = EXIT_SECONDS) -> bool:
        """Wait until all has left, but not longer than ``seconds``; returns whether it has."""
        until = time.monotonic() + seconds
        while self._waiting.unfinished_tasks and time.monotonic() < until:
            time.sleep(0.02)
        return not self._waiting.unfinished_tasks

    def _ensure_thread(self) -> None:
        with self._lock:
            if self._is_working:
                return
            self._is_working = True
            threading.Thread(target=self._work, name="ai_answers-langfuse", daemon=True).start()
            atexit.register(self.flush)

    def _work(self) -> None:
        while True:
            body = self._waiting.get()
            try:
                self._send(body)
            finally:
                self._waiting.task_done()

    def _send(self, body: dict[str, Any]) -> None:
        for attempt in range(1, TRIES + 1):
            request = Request(self._url, json.dumps(body).encode(), self._headers)  # noqa: S310 - http(s) only
            try:
                with _open(request, timeout=self._timeout_seconds):
                    return
            except HTTPError as error:
                reason, is_final = f"HTTP {error.code}", error.code < 500 and error.code != 429
            except Exception as error:
                reason, is_final = type(error).__name__, False
            if is_final or attempt == TRIES:
                logger.warning("%s did not take what was sent: %s.", self._url, reason)
                return
            time.sleep(PAUSE_SECONDS)
