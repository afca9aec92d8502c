"""When frames leave: the first content at once, then about ten times a second.

The interval grows with what a flush costs (a long unfinished table) and with how late the loop
is (many runs), so neither a long tail nor a loaded process can fall behind its readers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

INTERVAL_SECONDS = 0.1
LONGEST_INTERVAL_SECONDS = 1.0
PAUSE_SECONDS = 0.4
"""A pause of the model after which nothing is held back for thrift."""
COST_SHARE = 8
"""A flush may take at most this fraction (1/8) of the time."""


class Coalescer:
    """Calls ``flush`` on the running loop soon after ``touch``; use from one task only.

    ``idle`` is called when nothing has come for ``PAUSE_SECONDS`` after a flush.
    """

    def __init__(self, flush: Callable[[], None], *, idle: Callable[[], None]) -> None:
        self._flush = flush
        self._idle = idle
        self._loop = asyncio.get_running_loop()
        self._due: asyncio.TimerHandle | None = None
        self._pause: asyncio.TimerHandle | None = None
        self._interval = INTERVAL_SECONDS
        self._last: float | None = None

    def touch(self) -> None:
        """Note that there is something to flush."""
        if self._due is not None:
            return
        now = self._loop.time()
        due = now if self._last is None else self._last + self._interval
        if due <= now:
            self.flush()
        else:
            self._due = self._loop.call_at(due, self._on_due, due)

    def flush(self) -> None:
        """Flush now, ahead of anything that must come behind it in order."""
        self.cancel()
        began = self._loop.time()
        self._flush()
        self._last = self._loop.time()
        cost = (self._last - began) * COST_SHARE
        self._interval = min(LONGEST_INTERVAL_SECONDS, max(INTERVAL_SECONDS, cost))
        self._pause = self._loop.call_later(PAUSE_SECONDS, self._idle)

    def cancel(self) -> None:
        """Drop what is still to come."""
        for timer in (self._due, self._pause):
            if timer is not None:
                timer.cancel()
        self._due = self._pause = None

    def _on_due(self, due: float) -> None:
        late = self._loop.time() - due
        self.flush()
        self._interval = min(LONGEST_INTERVAL_SECONDS, self._interval + 2 * late)
