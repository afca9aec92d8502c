"""The event-loop thread of the process: where runs live, apart from any request.

Started at the first run, so after any fork, as a daemon; a forked child starts its own. Chat-model
clients are shared, so they must only ever see this one loop. Whatever is raised on the thread, the
loop goes on; one that was stopped or has lost its thread is replaced at the next run.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from ..chat_models import forget_models
from ..exceptions import ConfigurationError, trace

logger = logging.getLogger(__name__)

T = TypeVar("T")

PATCHERS: dict[str, tuple[str, str]] = {
    "gevent.monkey": ("is_module_patched", "threading"),
    "eventlet.patcher": ("is_monkey_patched", "thread"),
}
"""Module that replaces the standard library → its question, and what to ask it about."""

_lock = threading.Lock()
_loops: dict[int, tuple[asyncio.AbstractEventLoop, threading.Thread]] = {}


def run_loop() -> asyncio.AbstractEventLoop:
    """Return this process's loop, starting its thread when there is none.

    Raises ``ConfigurationError`` where threads are monkey-patched: the loop would run in the
    thread of the requests and stall them all (also the check E006).
    """
    if patcher := patched_threads():
        raise ConfigurationError(
            f"{patcher} has replaced threading; use a server with real threads or an ASGI server."
        )
    with _lock:
        loop, thread = _loops.get(os.getpid(), (None, None))
        if loop is None or loop.is_closed() or not thread.is_alive():
            if loop is not None:
                logger.error("The loop thread has ended; another one takes over.")
                forget_models()  # their connections belong to the old loop
            loop = asyncio.new_event_loop()
            thread = threading.Thread(
                target=_serve, args=(loop,), name="ai_answers-loop", daemon=True
            )
            _loops[os.getpid()] = (loop, thread)
            thread.start()
        return loop


def patched_threads() -> str | None:
    """Name the library that has replaced ``threading`` in this process, if one has.

    Only looks at modules that are loaded already.
    """
    for module, (question, about) in PATCHERS.items():
        ask: Callable[[str], bool] | None = getattr(sys.modules.get(module), question, None)
        if ask is not None and ask(about):
            return module.partition(".")[0]
    return None


def submit(coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
    """Run ``coroutine`` on the loop thread; safe from any thread."""
    return asyncio.run_coroutine_threadsafe(coroutine, run_loop())


def _forget() -> None:
    global _lock
    _lock = threading.Lock()
    _loops.clear()  # the thread of a parent's loop did not survive the fork


if hasattr(os, "register_at_fork"):  # not on Windows, which never forks
    os.register_at_fork(after_in_child=_forget)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    while True:
        try:
            loop.run_forever()
            return  # somebody called stop()
        except BaseException as error:
            # asyncio lets SystemExit and KeyboardInterrupt of a task through to here.
            logger.error("Something on the loop thread tried to end it: %s", trace(error))
