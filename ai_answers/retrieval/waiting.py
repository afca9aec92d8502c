"""Waiting for a service no longer than a visitor can.

In: a call and a number of seconds. Out: its result, its error, or ``TimeoutError``. The call runs
on a thread of its own, which is left behind when time is up: a vendor's own timeout may be many
minutes. Such a thread does not keep the process from ending. Whoever waits holds no database
connection meanwhile: a service that hangs must not take the site's connections with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

from django.db import connections

from ..bursts import release_connections

T = TypeVar("T")

MOST_LEFT_BEHIND = 32
"""Threads of a process that may hang before further calls are refused."""

_left_behind = threading.BoundedSemaphore(MOST_LEFT_BEHIND)


class _Call:
    """One call, what came of it, and whether somebody still waits."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._lock = threading.Lock()
        self._has_place = False
        self.ended = threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self._function()
        except BaseException as error:  # also what would end this thread: somebody waits for it
            self.error = error
        try:
            connections.close_all()
        finally:
            with self._lock:
                self.ended.set()
                if self._has_place:
                    _left_behind.release()

    def leave(self) -> None:
        """Give up waiting; the thread takes a place among those left behind until it ends."""
        with self._lock:
            if not self.ended.is_set():
                self._has_place = _left_behind.acquire(blocking=False)


def in_time(function: Callable[[], T], *, seconds: float) -> T:
    """Return what ``function`` returns, or raise what it raises, within ``seconds``.

    Raises ``TimeoutError`` when time is up, and at once while too many threads hang.
    """
    if not _left_behind.acquire(blocking=False):
        raise TimeoutError(f"{MOST_LEFT_BEHIND} calls hang; no more are begun.")
    _left_behind.release()
    call = _Call(function)
    thread = threading.Thread(
        target=copy_context().run, args=(call.run,), name="ai_answers-service", daemon=True
    )
    release_connections()
    thread.start()
    if not call.ended.wait(seconds):
        call.leave()
        raise TimeoutError(f"No answer within {seconds:g} s.")
    if call.error is None:
        return call.result
    if isinstance(call.error, Exception):
        raise call.error
    raise RuntimeError(f"{type(call.error).__name__} was raised where only an Exception may be.")
