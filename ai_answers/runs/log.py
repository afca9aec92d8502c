"""The ordered frames of one run, in memory: one writer, any number of readers.

Ids rise from 1. Only the newest frame of a part, of a child at a part's end, of the status and
of the provisional references is kept, so a replay is short and ids may skip. Readers live on
other threads and other loops; each registers a ``wake`` callable.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from ..values import Frame

MAX_PENDING = 200
"""Frames a reader may be behind before it gets a snapshot instead."""


@dataclass(frozen=True, slots=True)
class Entry:
    id: int
    frame: Frame


class EventLog:
    """``snapshot()`` gives the state that all appended frames add up to."""

    def __init__(self, snapshot: Callable[[], dict[str, Any]]) -> None:
        self._snapshot = snapshot
        self._entries: list[Entry] = []
        self._last_id = 0
        self._wakers: set[Callable[[], None]] = set()
        self._lock = threading.RLock()

    def step(self) -> AbstractContextManager[Any]:
        """Hold readers back while state changes and the frames that tell of it are appended."""
        return self._lock

    @property
    def last_id(self) -> int:
        return self._last_id

    @property
    def has_ended(self) -> bool:
        return bool(self._entries) and self._entries[-1].frame.is_last

    @property
    def has_readers(self) -> bool:
        return bool(self._wakers)

    def append(self, frame: Frame, *, id: int | None = None) -> int:
        """Add ``frame`` with the next id, or ``id`` when that is higher; returns the id."""
        with self._lock:
            self._last_id = max(self._last_id + 1, id or 0)
            self._drop_superseded(frame)
            self._entries.append(Entry(self._last_id, frame))
            wakers = list(self._wakers)
        for wake in wakers:
            wake()
        return self._last_id

    def after(self, last_seen: int) -> list[Entry]:
        """Return what a reader that has seen ``last_seen`` still needs, in order.

        A reader that is new (0) or not too far behind gets frames; an id this run never gave,
        or one too far back, gets one ``snapshot`` (and the last frame, when there is one).
        """
        with self._lock:
            pending = [entry for entry in self._entries if entry.id > last_seen]
            known = 0 <= last_seen <= self._last_id
            if known and (last_seen == 0 or len(pending) <= MAX_PENDING):
                return pending
            return self._snapshot_entries()

    def subscribe(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` (thread-safe, quick) after each frame."""
        with self._lock:
            self._wakers.add(wake)

    def unsubscribe(self, wake: Callable[[], None]) -> None:
        with self._lock:
            self._wakers.discard(wake)

    def _snapshot_entries(self) -> list[Entry]:
        ended = [entry for entry in self._entries[-1:] if entry.frame.is_last]
        at = self._last_id - 1 if ended else self._last_id
        return [Entry(at, Frame(kind="snapshot", data=self._snapshot())), *ended]

    def _drop_superseded(self, frame: Frame) -> None:
        if frame.kind in ("status", "references"):
            self._entries = [e for e in self._entries if e.frame.kind != frame.kind]
        elif frame.kind == "part":
            index, child = frame.data["index"], frame.data.get("child")
            if child is None and "html" in frame.data:
                self._entries = [e for e in self._entries if not _is_of_part(e.frame, index)]
            elif child is not None:
                self._drop_child(index, child)

    def _drop_child(self, index: int, child: list[int]) -> None:
        # Only while it is the part's newest frame: an earlier child may have been the one that
        # made room for those behind it.
        for position in range(len(self._entries) - 1, -1, -1):
            frame = self._entries[position].frame
            if _is_of_part(frame, index):
                if frame.data.get("child") == child:
                    del self._entries[position]
                return


def _is_of_part(frame: Frame, index: int) -> bool:
    return frame.kind == "part" and frame.data["index"] == index
