"""Indexing on a thread of this process, for those who have no shell: started in the admin.

In: an index. Out: a row that says how far it is, which any process may read. One run an index at
a time; a run whose process has died stops showing signs of life and may be started again, and
goes on from what is written.
"""

from __future__ import annotations

import datetime
import logging
import threading
import time

from django.db import IntegrityError, connections
from django.utils import timezone

from ..exceptions import AnswersError
from ..models import IndexingJob
from ..retrieval import get_index
from ..sources import registered
from .report import Report
from .running import index_source, is_in_index

logger = logging.getLogger(__name__)

DEAD_AFTER_SECONDS = 60
BEAT_SECONDS = 1.0
NAMED = 20
"""Failed objects that are kept."""


def start(alias: str, *, rebuild: bool) -> bool:
    """Start indexing ``alias``; ``False`` when a run is on its way already."""
    now = timezone.now()
    values = {
        "is_running": True, "source": "", "done": 0, "total": 0, "report": "", "failures": [],
        "error": "", "started_at": now, "heartbeat_at": now,
    }  # fmt: skip
    dead = now - datetime.timedelta(seconds=DEAD_AFTER_SECONDS)
    rows = IndexingJob.objects.filter(index=alias)
    free = rows.exclude(is_running=True, heartbeat_at__gt=dead)
    if not free.update(**values):
        if rows.exists():
            return False
        try:
            IndexingJob.objects.create(index=alias, **values)
        except IntegrityError:  # somebody else was faster
            return False
    threading.Thread(
        target=_work, args=(alias, now, rebuild), name="ai_answers-indexing", daemon=True
    ).start()
    return True


def is_alive(job: IndexingJob) -> bool:
    """Return whether the run is on its way and its process shows signs of life."""
    seconds = (timezone.now() - job.heartbeat_at).total_seconds()
    return job.is_running and seconds < DEAD_AFTER_SECONDS


class _Job:
    """What the thread writes of itself; only while the row is still its own."""

    def __init__(self, alias: str, started_at: datetime.datetime) -> None:
        self.row = IndexingJob.objects.filter(index=alias, started_at=started_at)
        self.failures: list[dict[str, str]] = []
        self.source = ""
        self._beat = 0.0

    def progress(self, done: int, total: int) -> None:
        if time.monotonic() - self._beat >= BEAT_SECONDS or done == total:
            self._beat = time.monotonic()
            self.write(source=self.source, done=done, total=total)

    def failed(self, entity_id: str, error: Exception) -> None:
        if len(self.failures) < NAMED:
            name = f"{self.source} {entity_id}"
            self.failures.append({"object": name, "error": type(error).__name__})

    def write(self, **values: object) -> None:
        self.row.update(heartbeat_at=timezone.now(), failures=self.failures, **values)


def _work(alias: str, started_at: datetime.datetime, rebuild: bool) -> None:  # noqa: FBT001
    job = _Job(alias, started_at)
    try:
        total = Report()
        index = get_index(alias)
        for source in registered():
            if is_in_index(source, alias):
                job.source = source.name
                total += index_source(
                    source,
                    index=alias,
                    rebuild=rebuild,
                    progress=job.progress,
                    on_failure=job.failed,
                )
        if not total.failed:
            index.finish()
        job.write(is_running=False, report=str(total))
    except AnswersError as error:
        job.write(is_running=False, error=f"{error} {error.__cause__ or ''}".strip())
    except Exception as error:
        logger.exception("Indexing %r ended with an error.", alias)
        job.write(is_running=False, error=type(error).__name__)
    finally:
        connections.close_all()
