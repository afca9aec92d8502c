"""Indexing that somebody starts with a click: on a thread of this process, seen by all.

In: the alias of an index. Out: a row of ``IndexingJob``, with progress about once a second and
what came of it. One an index at a time; a row whose heartbeat is old belongs to a process that is
gone, and the next start takes it over. What was written stays: an update goes on from there.
Needs no task queue, under WSGI and ASGI alike.
"""

from __future__ import annotations

import datetime
import logging
import threading
import uuid
from dataclasses import asdict
from functools import partial
from typing import Any

from django.db import DatabaseError, connections, router, transaction
from django.db.models import Q
from django.utils import timezone

from ..exceptions import AnswersError
from ..models import IndexingJob
from ..sources.base import storable
from .report import Report
from .whole import index_all

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""Between two looks at what has moved and whether to stop."""
HEARTBEAT_SECONDS = 5.0
STALE_SECONDS = 30.0
"""A running row that was not written for this long is taken for dead."""
FAILURES = 50
"""Objects kept by name; the report counts all."""
REASON_CHARS = 300


def start_job(alias: str, *, rebuild: bool, user: Any) -> bool:
    """Index ``alias`` on a thread, once the open transaction is committed.

    ``rebuild``: everything anew, else what changed. Returns False when it is being indexed so.
    """
    now, token = timezone.now(), uuid.uuid4().hex
    fields = {
        "rebuild": rebuild, "status": IndexingJob.Status.RUNNING, "token": token,
        "started_by": user, "started_at": now, "heartbeat_at": now, "finished_at": None,
        "stop_requested": False, "source": "", "done": 0, "total": 0, "report": {},
        "failures": [], "error": "",
    }  # fmt: skip
    _row, is_new = IndexingJob.objects.get_or_create(index=alias, defaults=fields)
    if not is_new:
        free = ~Q(status=IndexingJob.Status.RUNNING) | Q(heartbeat_at__lt=_stale_before())
        if not IndexingJob.objects.filter(free, index=alias).update(**fields):
            return False
    thread = threading.Thread(
        target=_Job(alias, token, rebuild=rebuild).work, name="ai_answers-indexing", daemon=True
    )
    transaction.on_commit(thread.start, using=router.db_for_write(IndexingJob))
    return True


def stop_job(alias: str) -> bool:
    """Ask for the end of what indexes ``alias``; False when nothing does."""
    rows = IndexingJob.objects.filter(index=alias, status=IndexingJob.Status.RUNNING)
    return bool(rows.filter(heartbeat_at__gte=_stale_before()).update(stop_requested=True))


def is_running(job: IndexingJob) -> bool:
    return job.status == IndexingJob.Status.RUNNING and job.heartbeat_at >= _stale_before()


def has_died(job: IndexingJob) -> bool:
    """Return whether the process that was at it ended without a word."""
    return job.status == IndexingJob.Status.RUNNING and not is_running(job)


def _stale_before() -> datetime.datetime:
    return timezone.now() - datetime.timedelta(seconds=STALE_SECONDS)


class _Stopped(Exception):
    """Somebody asked for the end, or another process has taken over."""


class _Job:
    """Two threads: one works, the other writes down how far it is.

    A single call of an embedding service may take minutes; the heartbeat must not wait for it.
    """

    def __init__(self, alias: str, token: str, *, rebuild: bool) -> None:
        self.rows = IndexingJob.objects.filter(index=alias, token=token)
        self.index = partial(index_all, alias, rebuild=rebuild)
        self.state: dict[str, Any] = {"source": "", "done": 0, "total": 0}
        self.report = Report()
        self.failures: list[tuple[str, str]] = []
        self._stop = threading.Event()
        self._ended = threading.Event()

    def work(self) -> None:
        watch = threading.Thread(target=self._watch, name="ai_answers-heartbeat", daemon=True)
        watch.start()
        status, error = IndexingJob.Status.DONE, ""
        try:
            self.report = self.index(
                progress=self._moved, on_failure=self._failed, on_source=self._source_ended
            )
        except _Stopped:
            status = IndexingJob.Status.STOPPED
        except BaseException as raised:  # a site's code may even raise SystemExit
            status, error = IndexingJob.Status.FAILED, _said(raised)
            if not isinstance(raised, AnswersError):
                logger.exception("Indexing ended early.")
        self._ended.set()
        watch.join()
        try:
            self._write(status=status, error=error, finished_at=timezone.now())
        finally:
            connections.close_all()

    def _moved(self, source: str, done: int, total: int) -> None:
        self.state = {"source": source, "done": done, "total": total}
        if self._stop.is_set():
            raise _Stopped

    def _failed(self, source: str, entity_id: str, error: Exception) -> None:
        if len(self.failures) < FAILURES:
            self.failures.append((f"{source}:{entity_id}", _said(error)))

    def _source_ended(self, source: str, report: Report) -> None:
        self.report += report

    def _watch(self) -> None:
        written, quiet_seconds = self._now(), 0.0
        try:
            while not self._ended.wait(LOOK_SECONDS):
                quiet_seconds += LOOK_SECONDS
                try:
                    if not self.rows.filter(stop_requested=False).exists():
                        self._stop.set()
                    now = self._now()
                    if now != written or quiet_seconds >= HEARTBEAT_SECONDS:
                        self._write()
                        written, quiet_seconds = now, 0.0
                except DatabaseError:
                    logger.warning("The progress of indexing could not be saved.", exc_info=True)
        finally:
            connections.close_all()

    def _now(self) -> dict[str, Any]:
        return self.state | {"report": asdict(self.report), "failures": list(self.failures)}

    def _write(self, **fields: Any) -> None:
        running = self.rows.filter(status=IndexingJob.Status.RUNNING)
        running.update(heartbeat_at=timezone.now(), **self._now(), **fields)


def _said(error: BaseException) -> str:
    """Return an error in a line: what it is, its first line, and the same of its cause."""
    errors = [error, *([error.__cause__] if error.__cause__ else [])]
    return " – ".join(map(_line, errors))[:REASON_CHARS]


def _line(error: BaseException) -> str:
    lines = storable(str(error)).strip().splitlines()
    name = "" if isinstance(error, AnswersError) and lines else type(error).__name__
    return ": ".join(filter(None, (name, lines[0] if lines else "")))
