"""Leaving a process in order: what its runs have written is saved as interrupted.

``end_runs`` is for a server that says when it stops (``ai_answers.asgi``). Else it happens at
interpreter exit, when executors no longer take work, so it writes on the exiting thread. A
process that is killed does not get here; the sweep of any other process finds such rows.
"""

from __future__ import annotations

import atexit
import logging
import os
import time

from django.db import connections

from ..answers.turns import close_turn
from ..exceptions import trace
from . import live
from .execution import last_frame

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 5.0
"""For runs to end by themselves; servers wait some ten seconds before they kill."""

_installed_in: set[int] = set()


def install() -> None:
    """Register the exit handler once per process."""
    if os.getpid() not in _installed_in:
        _installed_in.add(os.getpid())
        atexit.register(_interrupt_all)


def end_runs() -> None:
    """End all runs of this process; returns when they are saved, after a few seconds at most."""
    for run in live.running():
        run.cancel("shutdown")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while live.unsaved() and time.monotonic() < deadline:
        time.sleep(0.02)
    _interrupt_all()


def _interrupt_all() -> None:
    for run in live.unsaved():
        run.is_closing = True
        try:
            # One that had ended, but found no executor to save it, keeps its own end.
            closing = run.closing or run.pipeline.close("interrupted", error_code="interrupted")
            frame = last_frame(run.pipeline.spec, closing)
            close_turn(run.id, closing, frame=frame, sequence=run.log.last_id + 1)
        except Exception as error:
            logger.error("Run %s could not be saved at exit: %s", run.id, trace(error))
    connections.close_all()
