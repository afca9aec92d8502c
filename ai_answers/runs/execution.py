"""Executing one run: from its first frame to the row that says how it ended.

Exactly one last frame is written and saved, whatever happens: an answer, a stop, a failure, a
time limit, a shutdown. Saving comes first, so whoever reads ``done`` finds the turn closed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from typing import Any

from django.utils import translation

from ..answers.conversations import RunSpec
from ..answers.pipeline import Pipeline
from ..answers.turns import Closing, close_turn
from ..bursts import burst
from ..conf import app_settings
from ..exceptions import ModelTimeout, RunFailed
from ..values import Frame, Outcome
from . import live
from .log import EventLog

logger = logging.getLogger(__name__)

OUTCOMES: dict[str, Outcome] = {"content_filter": "refused"}
STOPS: dict[str, tuple[Outcome, str]] = {
    "stopped": ("stopped", ""),
    "abandoned": ("stopped", ""),
    "shutdown": ("interrupted", "interrupted"),
}


def worker_name() -> str:
    """Name this process in run rows: host and process id."""
    return f"{socket.gethostname()[:80]}:{os.getpid()}"


def make_live(spec: RunSpec) -> live.LiveRun:
    """Set up log and pipeline and announce the run to readers; its first frame is there."""
    log = EventLog(lambda: pipeline_snapshot(pipeline))
    pipeline = Pipeline(spec, emit=log.append, step=log.step)
    run = live.LiveRun(id=spec.run_id, pipeline=pipeline, log=log)
    log.append(Frame(kind="turn", data=_ids(spec)))
    live.add(run)
    return run


def pipeline_snapshot(pipeline: Pipeline) -> dict[str, Any]:
    """The ``snapshot`` frame's data: ids, phase, references and text or parts."""
    state = pipeline.snapshot()
    state.pop("text" if pipeline.spec.format == "html" else "parts")
    return {**_ids(pipeline.spec), **state}


async def execute(run: live.LiveRun) -> None:
    """Carry the run to its end and save it; never raises but on loop shutdown."""
    run.loop = asyncio.get_running_loop()
    run.task = asyncio.current_task()
    pipeline = run.pipeline
    with translation.override(pipeline.spec.language or None):
        try:
            if not run.stop_reason:
                async with asyncio.timeout(app_settings().RUN_SECONDS):
                    await pipeline.run()
            closing = _close(run)
        except asyncio.CancelledError:
            if not run.stop_reason:
                run.stop_reason = "shutdown"
            closing = _close(run)
            asyncio.current_task().uncancel()
        except TimeoutError:
            closing = _failed(run, ModelTimeout("The run took longer than RUN_SECONDS."))
        except RunFailed as error:
            closing = _failed(run, error)
        except Exception as error:
            closing = _failed(run, error)
        await _save(run, closing)


def _close(run: live.LiveRun) -> Closing:
    outcome, code = STOPS.get(run.stop_reason, (None, ""))
    return run.pipeline.close(outcome, error_code=code)


def _failed(run: live.LiveRun, error: Exception) -> Closing:
    code = error.code if isinstance(error, RunFailed) else "failed"
    # The message may quote the provider; it goes to the log only, without the question.
    logger.error("Run %s failed (%s): %s", run.id, code, error, exc_info=error)
    try:
        return run.pipeline.close(OUTCOMES.get(code, "failed"), error_code=code)
    except Exception:
        logger.exception("Run %s: its stages could not be flushed.", run.id)
        return Closing(outcome="failed", error_code=code)


async def _save(run: live.LiveRun, closing: Closing) -> None:
    frame = last_frame(run.pipeline.spec, closing)
    sequence = run.log.last_id + 1
    seconds = time.monotonic() - run.began
    if run.stop_reason != "deleted":
        try:
            await burst(
                close_turn, run.id, closing, frame=frame, sequence=sequence, seconds=seconds
            )
        except Exception:
            # The sweep will find the row; the reader still gets what was written.
            logger.exception("Run %s could not be saved.", run.id)
    run.log.append(frame, id=sequence)
    run.ended_at = time.monotonic()


def last_frame(spec: RunSpec, closing: Closing) -> Frame:
    """Return the frame that ends the stream: ``done``, ``stopped`` or ``error``."""
    if closing.error_code:
        data = {
            "code": closing.error_code,
            "retryable": closing.outcome != "refused",
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
    }
    return Frame(kind="stopped" if closing.outcome == "stopped" else "done", data=data)


def _ids(spec: RunSpec) -> dict[str, Any]:
    return {
        "conversation_id": str(spec.conversation_id),
        "turn": spec.position,
        "run": str(spec.run_id),
    }
