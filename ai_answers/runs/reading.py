"""Reading a run: frames for one reader, from this process's log or from the database.

``frames`` is the sync door (WSGI), ``aframes`` the async one (ASGI); both yield entries in order
of id, and ``None`` when nothing happened for ``HEARTBEAT_SECONDS``. They end behind the last
frame. No database connection is held between two looks.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from django.db import connection, connections
from django.utils import timezone

from ..answers.turns import interrupt_if_stale
from ..bursts import burst
from ..conf import app_settings
from ..models import Run
from ..values import Frame
from . import live
from .log import Entry

REMOTE_POLL_SECONDS = 0.5


class DatabaseTail:
    """A reader's place in a run that another process executes: snapshots only."""

    def __init__(self, run_id: Any, *, last_seen: int) -> None:
        self._run_id = run_id
        self._last_seen = last_seen

    def poll(self) -> list[Entry]:
        """Return what is new: a snapshot when the row has moved on, and the last frame.

        Also tells the executing process that somebody reads. A row that is gone (the
        conversation was deleted) ends with an error frame.
        """
        run = Run.objects.select_related("turn").filter(pk=self._run_id).first()
        if run is None:
            data = {"code": "not_found", "retryable": False, "outcome": "failed"}
            return [Entry(self._last_seen + 1, Frame(kind="error", data=data))]
        if run.status == Run.Status.RUNNING and interrupt_if_stale(run):
            run.refresh_from_db()
        if run.status == Run.Status.ENDED:
            return self._ending(run)
        Run.objects.filter(pk=run.pk).update(last_read_at=timezone.now())
        if run.sequence <= self._last_seen:
            return []
        self._last_seen = run.sequence
        return [Entry(run.sequence, Frame(kind="snapshot", data=snapshot_data(run)))]

    def _ending(self, run: Run) -> list[Entry]:
        last = Frame(kind=run.last_frame["kind"], data=run.last_frame["data"])
        entries = [Entry(run.sequence, last)]
        if self._last_seen != run.sequence - 1:
            data = snapshot_data(run)
            entries.insert(0, Entry(run.sequence - 1, Frame(kind="snapshot", data=data)))
        self._last_seen = run.sequence
        return entries


def snapshot_data(run: Run) -> dict[str, Any]:
    """Return the data of a ``snapshot`` frame for a run row."""
    text = {"parts": run.parts} if run.format == "html" else {"text": run.text}
    return {
        "conversation_id": str(run.turn.conversation_id),
        "turn": run.turn.position,
        "run": str(run.pk),
        "phase": run.phase,
        "references": run.references,
        **text,
    }


def is_delivered(run: Run, *, last_seen: int) -> bool:
    """Return whether a reader that has seen ``last_seen`` has had everything."""
    here = live.find(run.pk)
    if here is not None:
        return here.log.has_ended and last_seen == here.log.last_id
    return run.status == Run.Status.ENDED and last_seen == run.sequence


def frames(run_id: Any, *, last_seen: int = 0) -> Iterator[Entry | None]:
    """Yield the run's entries after ``last_seen``, and ``None`` as heartbeat."""
    heartbeat = app_settings().HEARTBEAT_SECONDS
    here = live.find(run_id)
    if here is None:
        yield from _from_database(DatabaseTail(run_id, last_seen=last_seen), heartbeat)
        return
    news = threading.Event()
    here.log.subscribe(news.set)
    try:
        while True:
            news.clear()
            for entry in here.log.after(last_seen):
                yield entry
                last_seen = entry.id
                if entry.frame.is_last:
                    return
            if not news.wait(heartbeat):
                yield None
    finally:
        here.log.unsubscribe(news.set)


async def aframes(run_id: Any, *, last_seen: int = 0) -> AsyncIterator[Entry | None]:
    """Async twin of ``frames``."""
    heartbeat = app_settings().HEARTBEAT_SECONDS
    here = live.find(run_id)
    if here is None:
        tail = DatabaseTail(run_id, last_seen=last_seen)
        async for entry in _afrom_database(tail, heartbeat):
            yield entry
        return
    loop, news = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        loop.call_soon_threadsafe(news.set)

    here.log.subscribe(wake)
    try:
        while True:
            news.clear()
            for entry in here.log.after(last_seen):
                yield entry
                last_seen = entry.id
                if entry.frame.is_last:
                    return
            try:
                await asyncio.wait_for(news.wait(), heartbeat)
            except TimeoutError:
                yield None
    finally:
        here.log.unsubscribe(wake)


def wait(run_id: Any) -> Frame:
    """Block until the run has ended and return its last frame (the JSON path)."""
    last = None
    for entry in frames(run_id):
        if entry is not None:
            last = entry.frame
    return last


def _from_database(tail: DatabaseTail, heartbeat: float) -> Iterator[Entry | None]:
    quiet_since = time.monotonic()
    while True:
        entries = tail.poll()
        release_connections()
        yield from entries
        if entries and entries[-1].frame.is_last:
            return
        now = time.monotonic()
        if entries:
            quiet_since = now
        elif now - quiet_since >= heartbeat:
            quiet_since = now
            yield None
        time.sleep(REMOTE_POLL_SECONDS)


async def _afrom_database(tail: DatabaseTail, heartbeat: float) -> AsyncIterator[Entry | None]:
    quiet_since = time.monotonic()
    while True:
        entries = await burst(tail.poll)
        for entry in entries:
            yield entry
        if entries and entries[-1].frame.is_last:
            return
        now = time.monotonic()
        if entries:
            quiet_since = now
        elif now - quiet_since >= heartbeat:
            quiet_since = now
            yield None
        await asyncio.sleep(REMOTE_POLL_SECONDS)


def release_connections() -> None:
    """Close this thread's connections, unless a caller's transaction needs them (TestCase)."""
    if not connection.in_atomic_block:
        connections.close_all()
