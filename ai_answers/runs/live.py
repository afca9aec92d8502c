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
from ..answers.turns import Closing
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
    """Why the task was cancelled: ``stopped``, ``abandoned``, ``deleted`` (its row is gone),
    ``swept`` (another process took it for dead) or ``shutdown``."""
    is_closing: bool = False
    """The stages are being flushed and saved: too late to cancel."""
    remote_read_at: float = float("-inf")
    """When a reader in another process was last seen, by this process's monotonic clock."""
    last_reader_at: float = field(default_factory=time.monotonic)
    written_id: int = -1
    written_at: float = float("-inf")
    closing: Closing | None = None
    """What it ended with, once that is known."""
    is_saved: bool = False
    ended_at: float | None = None

    def cancel(self, reason: str) -> None:
        """Ask the run to end; safe from any thread, and only the first reason counts."""
        if self.ended_at is None and self.loop is not None:
            self.loop.call_soon_threadsafe(self._cancel, reason)

    def _cancel(self, reason: str) -> None:
        if self.stop_reason or self.is_closing:
            return
        self.stop_reason = reason
        if self.task is not None:  # else it has not begun, and will see the reason
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


def unsaved() -> list[LiveRun]:
    """Return the runs whose end is not saved."""
    with _lock:
        return [run for run in _runs.values() if not run.is_saved]


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
