"""Reading a run: frames for one reader, from this process's log or from the database.

``frames`` is the sync door (WSGI), ``aframes`` the async one (ASGI). They differ in how they wait
and in nothing else: both yield entries in order of id, and ``None`` when nothing happened for
``HEARTBEAT_SECONDS``, and end behind the last frame. No database connection is held between two
looks. A reader that does not take what it gets is not waited for: it gets a snapshot later.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

from ..bursts import burst
from ..models import Run
from ..values import Asker, Frame
from . import live
from .log import Entry
from .tails import tail_of


def frames(run_id: Any, asker: Asker, *, last_seen: int = 0) -> Iterator[Entry | None]:
    """Yield the run's entries after ``last_seen``, and ``None`` as heartbeat.

    ``asker`` reads: references from the database are checked for him again.
    """
    tail, news = tail_of(run_id, asker, last_seen=last_seen), threading.Event()
    with tail.waking(news.set):
        while True:
            news.clear()
            yield from tail.next()
            if tail.has_ended:
                return
            news.wait(tail.pause())


async def aframes(run_id: Any, asker: Asker, *, last_seen: int = 0) -> AsyncIterator[Entry | None]:
    """Async twin of ``frames``."""
    tail, news = tail_of(run_id, asker, last_seen=last_seen), asyncio.Event()
    loop, is_told = asyncio.get_running_loop(), False

    def wake() -> None:
        nonlocal is_told
        if is_told:  # once is enough, or a loop that is busy would collect one call a frame
            return
        is_told = True
        # The reader's loop may have been closed on it; the writer must not pay for that.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(news.set)

    with tail.waking(wake):
        while True:
            news.clear()
            is_told = False  # before looking: what comes during the look tells again
            for entry in await burst(tail.next) if tail.asks_database else tail.next():
                yield entry
            if tail.has_ended:
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), tail.pause())


def wait(run_id: Any, asker: Asker) -> Frame:
    """Block until the run has ended and return its last frame (the JSON path)."""
    last = None
    for entry in frames(run_id, asker):
        if entry is not None:
            last = entry.frame
    return last


def is_delivered(run: Run, *, last_seen: int) -> bool:
    """Return whether a reader that has seen ``last_seen`` has had everything."""
    here = live.find(run.pk)
    if here is not None:
        return here.log.has_ended and last_seen == here.log.last_id
    return run.status == Run.Status.ENDED and last_seen == run.sequence
