"""Executing one run: from its first frame to the row that says how it ended.

Exactly one last frame is written and saved, whatever happens: an answer, a stop, a failure, a
time limit, a shutdown. Saving comes first, so whoever reads ``done`` finds the turn closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from dataclasses import replace

from django.utils import translation

from ..answers.budgets import settle
from ..answers.conversations import RunSpec
from ..answers.pipeline import Pipeline
from ..answers.turns import Closing, announce, close_turn
from ..bursts import ShuttingDown, burst, receiver_burst
from ..conf import app_settings
from ..exceptions import BudgetExhausted, ConfigurationError, ModelTimeout, RunFailed, trace
from ..models import Run, Turn
from ..values import Frame, Outcome
from . import live
from .log import EventLog

logger = logging.getLogger(__name__)

SAVE_PAUSES_SECONDS = (0.0, 0.5, 2.0)
"""Before each try to save how a run ended."""
KNOWN = (RunFailed, BudgetExhausted, ConfigurationError)
"""What a run may fail with on purpose: the code goes to the reader, the message to the log."""
OUTCOMES: dict[str, Outcome] = {"content_filter": "refused"}
STOPS: dict[str, tuple[Outcome, str]] = {
    "stopped": ("stopped", ""),
    "abandoned": ("stopped", ""),
    "shutdown": ("interrupted", "interrupted"),
    "deleted": ("interrupted", "interrupted"),
    "swept": ("interrupted", "interrupted"),
}


def worker_name() -> str:
    """Name this process in run rows: host and process id."""
    return f"{socket.gethostname()[:80]}:{os.getpid()}"


def make_live(spec: RunSpec) -> live.LiveRun:
    """Set up log and pipeline and announce the run to readers; its first frame is there."""
    log = EventLog(lambda: pipeline.snapshot_frame())
    pipeline = Pipeline(spec, emit=log.append, step=log.step)
    run = live.LiveRun(id=spec.run_id, pipeline=pipeline, log=log)
    log.append(Frame(kind="turn", data=pipeline.ids()))
    live.add(run)
    return run


async def execute(run: live.LiveRun) -> None:
    """Carry the run to its end and save it; never raises but on loop shutdown."""
    run.loop = asyncio.get_running_loop()
    run.task = asyncio.current_task()
    pipeline = run.pipeline
    with translation.override(pipeline.spec.language or None):
        try:
            if not run.stop_reason:
                async with asyncio.timeout(app_settings().RUN_SECONDS) as limit:
                    await pipeline.run()
            closing = _close(run)
        except asyncio.CancelledError:
            if not run.stop_reason:
                run.stop_reason = "shutdown"
            closing = _close(run)
            asyncio.current_task().uncancel()
        except TimeoutError as error:
            over = ModelTimeout("The run took longer than RUN_SECONDS.")
            # Time that ran out over judging a whole answer takes nothing from it.
            is_whole = limit.expired() and pipeline.is_written
            closing = _close(run) if is_whole else _failed(run, over if limit.expired() else error)
        except Exception as error:
            closing = _failed(run, error)
        await _to_the_end(asyncio.ensure_future(_save(run, closing)))


async def _to_the_end(saving: asyncio.Future[None]) -> None:
    """Wait for ``saving`` although a stop may come while the end is being saved."""
    while not saving.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(saving)


def _close(run: live.LiveRun) -> Closing:
    run.is_closing = True
    outcome, code = STOPS.get(run.stop_reason, (None, ""))
    return run.pipeline.close(outcome, error_code=code)


def _failed(run: live.LiveRun, error: Exception) -> Closing:
    known = isinstance(error, KNOWN)
    code, retryable = (error.code, error.retryable) if known else ("failed", True)
    # Only messages of our own are fit for a log.
    logger.error("Run %s failed (%s): %s", run.id, code, error if known else trace(error))
    logger.debug("Run %s failed.", run.id, exc_info=error)
    run.is_closing = True
    try:
        closing = run.pipeline.close(OUTCOMES.get(code, "failed"), error_code=code)
    except Exception as flaw:
        logger.error("Run %s: its stages could not be flushed: %s", run.id, trace(flaw))
        closing = Closing(outcome="failed", error_code=code)
    return replace(closing, retryable=retryable, error=trace(error))


async def _save(run: live.LiveRun, closing: Closing) -> None:
    """Save how the run ended, tell its readers, then the site."""
    run.closing = closing
    sequence = run.log.last_id + 1
    frame = last_frame(run.pipeline.spec, closing)
    turn = None
    try:
        frame, turn = await _saved(run, closing, frame, sequence)
    finally:
        run.log.append(frame, id=sequence)
        run.ended_at = time.monotonic()
    if turn is not None:
        seconds = run.ended_at - run.began
        await receiver_burst(announce, turn, closing, run_id=run.id, seconds=seconds)


async def _saved(
    run: live.LiveRun, closing: Closing, frame: Frame, sequence: int
) -> tuple[Frame, Turn | None]:
    """Close the turn, with patience for a busy database; returns the frame to end with.

    That is another one where the row was closed by somebody else, or could not be written: then
    the sweep will find it.
    """
    for pause in SAVE_PAUSES_SECONDS:
        await asyncio.sleep(pause)
        try:
            turn, ended_with = await burst(_write, run, closing, frame, sequence)
        except ShuttingDown:
            break  # ``shutdown`` saves it
        except Exception as error:
            logger.error("Run %s could not be saved: %s", run.id, trace(error))
            logger.debug("Run %s could not be saved.", run.id, exc_info=error)
        else:
            run.is_saved = True
            return ended_with or frame, turn
    return last_frame(run.pipeline.spec, replace(closing, error_code="not_saved")), None


def _write(
    run: live.LiveRun, closing: Closing, frame: Frame, sequence: int
) -> tuple[Turn | None, Frame | None]:
    """Close the turn; where somebody else has, return the frame he closed it with."""
    turn = close_turn(run.id, closing, frame=frame, sequence=sequence)
    if turn is not None:
        return turn, None
    row = Run.objects.filter(pk=run.id).first()
    if row is None:  # the conversation was erased; what was reserved for it is not
        settle(run.pipeline.reserved, used_tokens=closing.usage.total_tokens)
        return None, None
    return None, Frame(kind=row.last_frame["kind"], data=row.last_frame["data"])


def last_frame(spec: RunSpec, closing: Closing) -> Frame:
    """Return the frame that ends the stream: ``done``, ``stopped`` or ``error``."""
    if closing.error_code:
        data = {
            "code": closing.error_code,
            "retryable": closing.retryable and closing.outcome != "refused",
            "outcome": closing.outcome,
        }
        return Frame(kind="error", data=data)
    data = {
        "conversation_id": str(spec.conversation_id),
        "turn": spec.position,
        "text": closing.text,
        "references": list(closing.references),
        "outcome": closing.outcome,
        "usage": closing.usage.as_dict(),
        "log_id": str(closing.record["id"]) if closing.record else None,
        "trace_id": closing.trace_id or None,
    }
    if closing.support:
        data["support"] = dict(closing.support)
    return Frame(kind="stopped" if closing.outcome == "stopped" else "done", data=data)
