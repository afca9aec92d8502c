"""What a process does for its runs in the background: writing, polling, sweeping.

One writer: snapshots of runs with a reader elsewhere about twice a second, of all others every
five seconds, in one bulk update. One poller: stop requests and readers elsewhere, one query for
all runs, four times a second. Both end when the last run has ended, so an idle process queries
nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from django.utils import timezone

from ..answers.turns import sweep
from ..bursts import ShuttingDown, burst
from ..conf import app_settings
from ..models import Run
from . import live
from .execution import worker_name

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.25
"""A stop from another process waits for this and its query, and has one second in all."""
CHECK_SECONDS = 0.5
"""Between two looks at which runs are due to be written."""
WRITE_SECONDS = 5.0
WATCHED_WRITE_SECONDS = 0.5
WATCHED_FOR_SECONDS = 5.0
"""A reader elsewhere counts for this long after it was last seen."""
SWEEP_SECONDS = 30.0

_tasks: dict[str, asyncio.Task[None]] = {}


def ensure() -> None:
    """Start the tasks that are not running; call on the loop thread."""
    loop = asyncio.get_running_loop()
    for name, work, pause in (
        ("writer", _write, CHECK_SECONDS),
        ("poller", _poll, POLL_SECONDS),
        ("sweeper", _sweep, SWEEP_SECONDS),
    ):
        task = _tasks.get(name)
        if task is None or task.done() or task.get_loop() is not loop:
            _tasks[name] = loop.create_task(_repeat(work, pause), name=f"ai_answers-{name}")


async def _repeat(work: Any, pause: float) -> None:
    while live.running():
        try:
            await work()
        except ShuttingDown:
            return  # ``shutdown`` saves what there is
        except Exception:
            logger.exception("Looking after the runs failed; trying again.")
        await asyncio.sleep(pause)
    live.forget_ended()


async def _write() -> None:
    now = time.monotonic()
    due = [run for run in live.running() if _is_due(run, now)]
    if not due:
        return
    # State and id are taken in one step on the loop thread, so they belong together.
    rows = [_row(run) for run in due]
    for run, row in zip(due, rows, strict=True):
        run.written_id, run.written_at = row.sequence, now
    await burst(_write_rows, rows)


def _is_due(run: live.LiveRun, now: float) -> bool:
    waited = now - run.written_at
    if waited >= WRITE_SECONDS:
        return True
    watched = now - run.remote_read_at < WATCHED_FOR_SECONDS
    return watched and waited >= WATCHED_WRITE_SECONDS and run.log.last_id > run.written_id


def _row(run: live.LiveRun) -> Run:
    state = run.pipeline.snapshot()
    return Run(
        pk=run.id,
        phase=state["phase"],
        sequence=run.log.last_id,
        text=state["text"],
        parts=state["parts"],
        references=state["references"],
        heartbeat_at=timezone.now(),
        worker=worker_name(),
    )


def _write_rows(rows: list[Run]) -> None:
    fields = ["phase", "sequence", "text", "parts", "references", "heartbeat_at", "worker"]
    # A run that has ended in between keeps its final state.
    Run.objects.filter(status=Run.Status.RUNNING).bulk_update(rows, fields, batch_size=100)


async def _poll() -> None:
    runs = {run.id: run for run in live.running()}
    seen = await burst(_read_rows, list(runs))
    now, wall = time.monotonic(), timezone.now()
    abandon = app_settings().ABANDON_SECONDS
    for run_id, run in runs.items():
        if run_id not in seen:
            run.cancel("deleted")  # the conversation was erased while it was being answered
            continue
        status, stop_requested, last_read_at = seen[run_id]
        if status != Run.Status.RUNNING:
            run.cancel("swept")
        elif stop_requested:
            run.cancel("stopped")
        if last_read_at is not None:
            run.remote_read_at = now - (wall - last_read_at).total_seconds()
        if run.log.has_readers:
            run.last_reader_at = now
        last_reader_at = max(run.last_reader_at, run.remote_read_at)
        if abandon is not None and now - last_reader_at > abandon:
            run.cancel("abandoned")


def _read_rows(run_ids: list[Any]) -> dict[Any, tuple[str, bool, Any]]:
    rows = Run.objects.filter(pk__in=run_ids)
    fields = rows.values_list("pk", "status", "stop_requested", "last_read_at")
    return {pk: (status, stop, read) for pk, status, stop, read in fields}


async def _sweep() -> None:
    live.forget_ended()
    await burst(sweep)
