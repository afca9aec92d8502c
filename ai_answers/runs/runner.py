"""Where runs execute; the setting ``RUNNER`` picks one by dotted path."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

from asgiref.sync import async_to_sync
from django.db import connection

from ..answers.conversations import RunSpec
from ..bursts import inline
from ..conf import app_settings, import_part
from ..exceptions import ConfigurationError
from . import shutdown, upkeep
from .execution import execute, make_live
from .loop import run_loop, submit


class Runner(ABC):
    """Starts runs."""

    @abstractmethod
    def start(self, spec: RunSpec) -> None:
        """Start the run of an opened turn; called after its transaction."""


class ThreadRunner(Runner):
    """Runs are tasks on the process's loop thread: they outlive the request."""

    def __init__(self) -> None:
        # Both before a turn is opened: no real threads, or a caller's open transaction.
        run_loop()
        if connection.in_atomic_block:
            raise ConfigurationError(
                "A run works on connections of its own and would not see the rows of this open "
                "transaction. In a TestCase set AI_ANSWERS['RUNNER'] to "
                "'ai_answers.runs.runner.InlineRunner'."
            )

    def start(self, spec: RunSpec) -> None:
        run = make_live(spec)
        run.loop = run_loop()  # a stop may come before the task has begun
        shutdown.install()
        submit(_started(run))


class InlineRunner(Runner):
    """Runs end before ``start`` returns, on the caller's connection and in its transaction.

    For a site's own ``TestCase``; nothing streams and nothing can be stopped.
    """

    def start(self, spec: RunSpec) -> None:
        run = make_live(spec)
        with inline():
            async_to_sync(execute)(run)


def get_runner() -> Runner:
    """Return a runner of the class that ``RUNNER`` names."""
    return import_part(app_settings().RUNNER, setting="AI_ANSWERS['RUNNER']")()


async def _started(run) -> None:
    upkeep.ensure()
    # A task of its own, so that cancelling it leaves this coroutine's future alone.
    await asyncio.gather(asyncio.ensure_future(execute(run)), return_exceptions=True)
