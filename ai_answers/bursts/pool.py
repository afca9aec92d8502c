"""The threads for one kind of work in this process.

Threads that a caller gave up waiting for are counted; once all of an executor hang, another takes
over, until ``MOST_LEFT_BEHIND`` hang in all.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from django.db import connections

from .containing import call_contained

logger = logging.getLogger(__name__)

THREADS = 8
"""Of each executor."""
MOST_LEFT_BEHIND = 4 * THREADS
"""Threads of one kind that may hang before further calls of that kind are refused."""


class ThreadsHang(RuntimeError):
    """Too many calls of one kind never returned; further ones are refused until some do."""


@dataclass(slots=True, eq=False)
class Call:
    """One call, and how far it has come."""

    executor: ThreadPoolExecutor
    function: Callable
    args: tuple
    kwargs: dict
    began: bool = False
    ended: bool = False
    is_left: bool = False


class Pool:
    """``may_leave``: whether a call nobody waits for any more counts as hanging."""

    def __init__(self, name: str, *, may_leave: bool) -> None:
        self.name = name
        self._may_leave = may_leave
        self._executor = self._new()
        self._lock = threading.Lock()
        self._hanging = 0
        """Threads of the executor in use that nobody waits for any more."""
        self._left = 0
        """The same of all executors so far."""

    def executor(self) -> ThreadPoolExecutor:
        """Return the executor to use now, or raise ``ThreadsHang``."""
        with self._lock:
            if self._hanging >= THREADS and not self._replace():
                raise ThreadsHang(f"{self._left} threads for {self.name} hang; none is left.")
            return self._executor

    def call(self, call: Call) -> Any:
        """Carry out ``call``; the thread's connections are closed after."""
        with self._lock:
            if call.is_left:
                return None
            call.began = True
        try:
            return call_contained(call.function, call.args, call.kwargs)
        finally:
            connections.close_all()
            with self._lock:
                call.ended = True
                if call.is_left:
                    self._left -= 1
                    self._hanging -= call.executor is self._executor

    def leave(self, call: Call) -> None:
        """Note that nobody waits for ``call`` any more, although its thread may still run."""
        if not self._may_leave:
            return
        with self._lock:
            call.is_left = True
            if not call.began or call.ended:
                return
            self._left += 1
            self._hanging += call.executor is self._executor
            if self._hanging >= THREADS and not self._replace():
                logger.error("%d threads for %s hang; calls are refused.", self._left, self.name)

    def _replace(self) -> bool:
        if self._left >= MOST_LEFT_BEHIND:
            return False
        logger.error("All %d threads for %s hang; new ones take over.", THREADS, self.name)
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._executor, self._hanging = self._new(), 0
        return True

    def _new(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(THREADS, thread_name_prefix=f"ai_answers-{self.name}")
