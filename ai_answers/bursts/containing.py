"""Containing a site's code: what it must not do to the process arrives as ``RuntimeError``.

That is ``SystemExit`` in a tool, and a cancellation that nobody asked for.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def contained(awaitable: Awaitable[T]) -> T:
    """Await async code of the site; an attempt to end the process or task is a ``RuntimeError``."""
    before = cancels()
    try:
        return await awaitable
    except (asyncio.CancelledError, SystemExit, KeyboardInterrupt) as error:
        if isinstance(error, asyncio.CancelledError) and cancels() > before:
            raise
        raise escape(error) from error


def call_contained(function: Callable[..., T], args: tuple, kwargs: dict[str, Any]) -> T:
    """Call sync code of the site, with the same promise."""
    try:
        return function(*args, **kwargs)
    except (SystemExit, GeneratorExit, StopIteration) as error:
        raise escape(error) from error  # no future can carry a StopIteration
    except KeyboardInterrupt as error:
        if threading.current_thread() is threading.main_thread():
            raise  # somebody's Ctrl-C
        raise escape(error) from error


def cancels() -> int:
    """Return how often the current task was asked to end: more than before means really."""
    task = asyncio.current_task()
    return task.cancelling() if task else 0


def escape(error: BaseException) -> RuntimeError:
    """Return the error that stands for ``error``."""
    return RuntimeError(f"{type(error).__name__} was raised where only an Exception may be.")
