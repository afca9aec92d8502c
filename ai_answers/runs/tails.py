"""A reader's place in a run, and what it has not seen yet.

``LogTail`` follows a run of this process, ``DatabaseTail`` one of another. Both answer ``next``
with the entries that are due; how to wait in between is the business of ``reading``.
"""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from django.utils import timezone

from ..answers.showing import references_now
from ..answers.turns import interrupt_if_stale, stale_before
from ..bursts import release_connections
from ..conf import app_settings
from ..models import Run
from ..values import Asker, Frame
from . import live
from .log import Entry, EventLog

REMOTE_POLL_SECONDS = 0.5
TELL_SECONDS = 2.0
"""Between two marks that somebody reads; the executing process counts one for five seconds."""


class Tail(ABC):
    """Gives entries in order of id, and ``None`` after ``HEARTBEAT_SECONDS`` without any."""

    asks_database = False
    """Whether ``next`` is work for a burst."""
    poll_seconds = float("inf")

    def __init__(self, *, last_seen: int) -> None:
        self.last_seen = last_seen
        self.has_ended = False
        self._heartbeat = app_settings().HEARTBEAT_SECONDS
        self._quiet_since = time.monotonic()

    def next(self) -> list[Entry | None]:
        """Return what is due now; nothing comes behind a run's last frame."""
        entries = self._read()
        now = time.monotonic()
        if entries:
            self.last_seen, self._quiet_since = entries[-1].id, now
            self.has_ended = entries[-1].frame.is_last
            return entries
        if now - self._quiet_since < self._heartbeat:
            return []
        self._quiet_since = now
        return [None]

    def pause(self) -> float:
        """Return the seconds after which to ask again, unless woken before."""
        until_heartbeat = self._quiet_since + self._heartbeat - time.monotonic()
        return max(0.0, min(self.poll_seconds, until_heartbeat))

    @contextlib.contextmanager
    def waking(self, wake: Callable[[], None]) -> Iterator[None]:
        """Call ``wake`` (thread-safe, quick) when there is news, as far as that can be known."""
        yield

    @abstractmethod
    def _read(self) -> list[Entry]:
        """Return all entries behind ``last_seen``."""


class LogTail(Tail):
    """A place in the log of a run that this process executes."""

    def __init__(self, log: EventLog, *, last_seen: int) -> None:
        super().__init__(last_seen=last_seen)
        self._log = log

    @contextlib.contextmanager
    def waking(self, wake: Callable[[], None]) -> Iterator[None]:
        self._log.subscribe(wake)
        try:
            yield
        finally:
            self._log.unsubscribe(wake)

    def _read(self) -> list[Entry]:
        return self._log.after(self.last_seen)


class DatabaseTail(Tail):
    """A place in a run that another process executes: snapshots only.

    Reading tells that process that somebody reads. References are checked for ``asker`` again.
    """

    asks_database = True
    poll_seconds = REMOTE_POLL_SECONDS

    def __init__(self, run_id: Any, asker: Asker, *, last_seen: int) -> None:
        super().__init__(last_seen=last_seen)
        self._run_id = run_id
        self._asker = asker

    def _read(self) -> list[Entry]:
        try:
            return self._look()
        finally:
            release_connections()

    def _look(self) -> list[Entry]:
        """Return a snapshot when the row has moved on, and the last frame.

        A row that is gone (the conversation was deleted) ends with an error frame.
        """
        rows = Run.objects.filter(pk=self._run_id)
        state = rows.values("status", "sequence", "heartbeat_at", "last_read_at").first()
        if state is None:
            data = {"code": "not_found", "retryable": False, "outcome": "failed"}
            return [Entry(self.last_seen + 1, Frame(kind="error", data=data))]
        is_running = state["status"] == Run.Status.RUNNING
        if is_running and state["heartbeat_at"] > stale_before():
            self._tell(rows, state["last_read_at"])
            if state["sequence"] <= self.last_seen:
                return []
        run = rows.select_related("turn__conversation__agent").get()
        if run.status == Run.Status.RUNNING and interrupt_if_stale(run):
            run.refresh_from_db()
        if run.status == Run.Status.ENDED:
            return self._ending(run)
        return [Entry(run.sequence, Frame(kind="snapshot", data=self._data(run)))]

    def _tell(self, rows: Any, last_read_at: Any) -> None:
        now = timezone.now()
        if last_read_at is None or (now - last_read_at).total_seconds() > TELL_SECONDS:
            rows.update(last_read_at=now)

    def _ending(self, run: Run) -> list[Entry]:
        data = dict(run.last_frame["data"])
        if "references" in data:
            data["references"] = self._shown(run, data["references"])
        entries = [Entry(run.sequence, Frame(kind=run.last_frame["kind"], data=data))]
        if self.last_seen != run.sequence - 1:
            snapshot = Frame(kind="snapshot", data=self._data(run))
            entries.insert(0, Entry(run.sequence - 1, snapshot))
        return entries

    def _data(self, run: Run) -> dict[str, Any]:
        """Return a snapshot in which nothing is shown that the asker may no longer see."""
        text = {"parts": run.parts} if run.format == "html" else {"text": run.text}
        return {
            "conversation_id": str(run.turn.conversation_id),
            "turn": run.turn.position,
            "run": str(run.pk),
            "phase": run.phase,
            "references": self._shown(run, run.references),
            **text,
        }

    def _shown(self, run: Run, references: list[dict[str, Any]]) -> list[dict[str, Any]]:
        mode = run.turn.conversation.agent.reference_view_mode
        return references_now(references, self._asker, view_mode=mode)


def tail_of(run_id: Any, asker: Asker, *, last_seen: int) -> Tail:
    """Return the place behind ``last_seen`` in a run of this or of another process."""
    here = live.find(run_id)
    if here is not None:
        return LogTail(here.log, last_seen=last_seen)
    return DatabaseTail(run_id, asker, last_seen=last_seen)
