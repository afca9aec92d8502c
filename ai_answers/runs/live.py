"""The runs that this process executes, or has just executed."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from ..answers.pipeline import Pipeline
from .log import EventLog

KEEP_SECONDS = 60
"""How long an ended run's log stays for late readers; after that the database serves them."""


@dataclass(slots=True, eq=False)
class LiveRun:
    """One run of this process. Changed on the loop thread only; read from anywhere."""

    id: uuid.UUID
    pipeline: Pipeline
    log: EventLog
    began: float = field(default_factory=time.monotonic)
    task: asyncio.Task[Any] | None = None
    loop: asyncio.AbstractEventLoop | None = None
    stop_reason: str = ""
    """Why the task was cancelled: ``stopped``, ``abandoned``, ``deleted``, ``shutdown``."""
    remote_read_at: float = float("-inf")
    """When a reader in another process was last seen, by this process's monotonic clock."""
    last_reader_at: float = field(default_factory=time.monotonic)
    written_id: int = -1
    written_at: float = float("-inf")
    ended_at: float | None = None

    def cancel(self, reason: str) -> None:
        """Ask the run to end; safe from any thread, and only the first reason counts."""
        if self.stop_reason or self.ended_at is not None or self.loop is None:
            return
        self.stop_reason = reason
        self.loop.call_soon_threadsafe(self._cancel_task)

    def _cancel_task(self) -> None:
        if self.task is not None:
            self.task.cancel()


_lock = threading.Lock()
_runs: dict[uuid.UUID, LiveRun] = {}


def add(run: LiveRun) -> None:
    with _lock:
        _runs[run.id] = run


def find(run_id: uuid.UUID) -> LiveRun | None:
    """Return the run if it lives, or lived until just now, in this process."""
    with _lock:
        return _runs.get(run_id)


def running() -> list[LiveRun]:
    """Return the runs that have not ended."""
    with _lock:
        return [run for run in _runs.values() if run.ended_at is None]


def forget_ended(*, older_than: float = KEEP_SECONDS) -> None:
    """Drop the logs of runs that ended longer ago than that many seconds."""
    now = time.monotonic()
    with _lock:
        for run in list(_runs.values()):
            if run.ended_at is not None and now - run.ended_at >= older_than:
                del _runs[run.id]


def _clear() -> None:
    global _lock
    _lock = threading.Lock()
    _runs.clear()


# A forked child executes none of its parent's runs, and the lock may have been held.
if hasattr(os, "register_at_fork"):  # not on Windows, which never forks
    os.register_at_fork(after_in_child=_clear)
