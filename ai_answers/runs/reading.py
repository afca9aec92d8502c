"""Reading a run: frames for one reader, from this process's log or from the database.

``frames`` is the sync door (WSGI), ``aframes`` the async one (ASGI); both yield entries in order
of id, and ``None`` when nothing happened for ``HEARTBEAT_SECONDS``. They end behind the last
frame. No database connection is held between two looks.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

from django.db import connections
from django.utils import timezone

from ..answers.showing import references_now
from ..answers.turns import interrupt_if_stale, stale_before
from ..bursts import burst
from ..conf import app_settings
from ..models import Run
from ..values import Asker, Frame
from . import live
from .log import Entry

REMOTE_POLL_SECONDS = 0.5
TELL_SECONDS = 2.0
"""Between two marks that somebody reads; the executing process counts one for five seconds."""


class DatabaseTail:
    """A reader's place in a run that another process executes: snapshots only."""

    def __init__(self, run_id: Any, asker: Asker, *, last_seen: int) -> None:
        self._run_id = run_id
        self._asker = asker
        self._last_seen = last_seen

    def poll(self) -> list[Entry]:
        """Return what is new: a snapshot when the row has moved on, and the last frame.

        Also tells the executing process that somebody reads. A row that is gone (the
        conversation was deleted) ends with an error frame.
        """
        rows = Run.objects.filter(pk=self._run_id)
        state = rows.values("status", "sequence", "heartbeat_at", "last_read_at").first()
        if state is None:
            data = {"code": "not_found", "retryable": False, "outcome": "failed"}
            return [Entry(self._last_seen + 1, Frame(kind="error", data=data))]
        is_running = state["status"] == Run.Status.RUNNING
        if is_running and state["heartbeat_at"] > stale_before():
            self._tell(rows, state["last_read_at"])
            if state["sequence"] <= self._last_seen:
                return []
        run = rows.select_related("turn__conversation__agent").get()
        if run.status == Run.Status.RUNNING and interrupt_if_stale(run):
            run.refresh_from_db()
        if run.status == Run.Status.ENDED:
            return self._ending(run)
        self._last_seen = run.sequence
        return [Entry(run.sequence, Frame(kind="snapshot", data=self._data(run)))]

    def _tell(self, rows: Any, last_read_at: Any) -> None:
        now = timezone.now()
        if last_read_at is None or (now - last_read_at).total_seconds() > TELL_SECONDS:
            rows.update(last_read_at=now)

    def _data(self, run: Run) -> dict[str, Any]:
        """Return a snapshot in which nothing is shown that the asker may no longer see."""
        data = snapshot_data(run)
        return data | {"references": self._shown(run, data["references"])}

    def _shown(self, run: Run, references: list[dict[str, Any]]) -> list[dict[str, Any]]:
        mode = run.turn.conversation.agent.reference_view_mode
        return references_now(references, self._asker, view_mode=mode)

    def _ending(self, run: Run) -> list[Entry]:
        data = dict(run.last_frame["data"])
        if "references" in data:
            data["references"] = self._shown(run, data["references"])
        last = Frame(kind=run.last_frame["kind"], data=data)
        entries = [Entry(run.sequence, last)]
        if self._last_seen != run.sequence - 1:
            snapshot = Frame(kind="snapshot", data=self._data(run))
            entries.insert(0, Entry(run.sequence - 1, snapshot))
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


def frames(run_id: Any, asker: Asker, *, last_seen: int = 0) -> Iterator[Entry | None]:
    """Yield the run's entries after ``last_seen``, and ``None`` as heartbeat.

    ``asker`` reads: references from the database are checked for him again.
    """
    heartbeat = app_settings().HEARTBEAT_SECONDS
    here = live.find(run_id)
    if here is None:
        yield from _from_database(DatabaseTail(run_id, asker, last_seen=last_seen), heartbeat)
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


async def aframes(run_id: Any, asker: Asker, *, last_seen: int = 0) -> AsyncIterator[Entry | None]:
    """Async twin of ``frames``."""
    heartbeat = app_settings().HEARTBEAT_SECONDS
    here = live.find(run_id)
    if here is None:
        tail = DatabaseTail(run_id, asker, last_seen=last_seen)
        async with aclosing(_afrom_database(tail, heartbeat)) as entries:
            async for entry in entries:
                yield entry
        return
    loop, news = asyncio.get_running_loop(), asyncio.Event()

    def wake() -> None:
        # The reader's loop may have been closed on it; the writer must not pay for that.
        with contextlib.suppress(RuntimeError):
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


def wait(run_id: Any, asker: Asker) -> Frame:
    """Block until the run has ended and return its last frame (the JSON path)."""
    last = None
    for entry in frames(run_id, asker):
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
    if not any(connection.in_atomic_block for connection in connections.all(initialized_only=True)):
        connections.close_all()
