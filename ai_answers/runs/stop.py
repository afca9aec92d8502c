"""Stopping a run from any process."""

from __future__ import annotations

from ..models import Run
from . import live


def stop(run: Run) -> bool:
    """Ask ``run`` to end; returns whether it was still running.

    In this process the model's request is cancelled at once; another process sees the row within
    a quarter of a second.
    """
    asked = Run.objects.filter(pk=run.pk, status=Run.Status.RUNNING).update(stop_requested=True)
    if asked and (here := live.find(run.pk)):
        here.cancel("stopped")
    return bool(asked)
