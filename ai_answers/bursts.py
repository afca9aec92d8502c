"""Short bursts of sync work from async code, with no database connection kept afterwards.

A burst is one sync function that touches the database and returns plain data. It runs on a
bounded executor in the caller's context (so the active language comes along), and the thread
closes its connections behind it. Tools and retrievers of a site run on an executor of their
own: eight that hang cannot keep a turn from being saved.

Inside ``inline()`` (the inline runner, a ``TestCase``) bursts run on the calling thread and
share its connection and transaction.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import os
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import connections

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 8

_inline: contextvars.ContextVar[bool] = contextvars.ContextVar("ai_answers_inline", default=False)
_executors: dict[tuple[int, str], ThreadPoolExecutor] = {}


@contextlib.contextmanager
def inline() -> Iterator[None]:
    """Let bursts below share the caller's thread, connection and transaction."""
    token = _inline.set(True)
    try:
        yield
    finally:
        _inline.reset(token)


async def burst(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``function`` on the app's own executor; its thread's connections are closed after."""
    return await _run("bursts", function, args, kwargs)


async def site_burst(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a sync tool, retriever or receiver of the site, on an executor of its own."""
    return await _run("site", function, args, kwargs)


def asynchronous(function: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Make the async twin of a sync function: each call is one burst."""

    @functools.wraps(function)
    async def twin(*args: P.args, **kwargs: P.kwargs) -> T:
        return await burst(function, *args, **kwargs)

    return twin


async def _run(name: str, function: Callable, args: tuple, kwargs: dict):
    if _inline.get():
        return await sync_to_async(function, thread_sensitive=True)(*args, **kwargs)
    # asgiref takes the context along and hands its own locals (the active language) to the
    # thread; a bare copy of the context would not: asgiref ties its locals to threads.
    call = sync_to_async(_call_and_close, thread_sensitive=False, executor=_executor(name))
    return await call(function, args, kwargs)


def _call_and_close(function: Callable, args: tuple, kwargs: dict):
    try:
        return function(*args, **kwargs)
    finally:
        connections.close_all()


def _executor(name: str) -> ThreadPoolExecutor:
    # Keyed by process: a forked worker inherits the dict, but not the threads.
    key = (os.getpid(), name)
    if key not in _executors:
        _executors[key] = ThreadPoolExecutor(THREADS, thread_name_prefix=f"ai_answers-{name}")
    return _executors[key]
