"""The ways in: one for each kind of work, so that none waits for another.

Inside ``inline()`` (the inline runner, a ``TestCase``) bursts run on the calling thread and share
its connection and transaction, each behind a savepoint.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import connections, transaction

from .containing import call_contained, cancels, escape
from .pool import Call, Pool

P = ParamSpec("P")
T = TypeVar("T")

OWN = "bursts"
"""The app's own work: it ends by itself, and is done although nobody waits."""

_inline: contextvars.ContextVar[bool] = contextvars.ContextVar("ai_answers_inline", default=False)
_pools: dict[tuple[int, str], Pool] = {}


class ShuttingDown(RuntimeError):
    """The process is ending and starts no more threads. Pass it on; there is nothing to log."""


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
    return await _run(OWN, function, args, kwargs)


async def site_burst(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a sync tool of the site."""
    return await _run("tools", function, args, kwargs)


async def search_burst(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a search, which may wait for an embedding service or a reranker."""
    return await _run("searches", function, args, kwargs)


async def receiver_burst(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a sync receiver of a signal, or build a part that a setting names."""
    return await _run("receivers", function, args, kwargs)


async def _run(name: str, function: Callable, args: tuple, kwargs: dict) -> Any:
    if _inline.get():
        return await sync_to_async(_call_inline, thread_sensitive=True)(function, args, kwargs)
    pool = _pool(name)
    before = cancels()
    while True:
        call = Call(pool.executor(), function, args, kwargs)
        # asgiref takes the context along and hands its own locals (the active language) to the
        # thread; a bare copy of the context would not: asgiref ties its locals to threads.
        start = sync_to_async(pool.call, thread_sensitive=False, executor=call.executor)
        try:
            return await start(call)
        except asyncio.CancelledError as error:
            pool.leave(call)
            if cancels() > before:
                raise
            if call.began:
                raise escape(error) from error
            # It queued behind threads that hang, and its executor was given up: once more.
        except RuntimeError as error:
            if call.began or "cannot schedule new futures" not in str(error):
                raise
            # Its executor is closed: by the interpreter on its way out, or given up by the pool.
            if pool.executor() is call.executor:
                raise ShuttingDown("The process is ending.") from None


def _pool(name: str) -> Pool:
    # Keyed by process: a forked worker inherits the dict, but not the threads.
    key = (os.getpid(), name)
    return _pools.get(key) or _pools.setdefault(key, Pool(name, may_leave=name != OWN))


def _call_inline(function: Callable, args: tuple, kwargs: dict) -> Any:
    with contextlib.ExitStack() as savepoints:
        for connection in connections.all(initialized_only=True):
            if connection.in_atomic_block:
                # What fails in here must not break the transaction of the test around it.
                block = transaction.atomic(using=connection.alias)
                outer = connection.atomic_blocks[-1]
                # Django's own mark: durable blocks are allowed right below a test's.
                block._from_testcase = getattr(outer, "_from_testcase", False)
                savepoints.enter_context(block)
        return call_contained(function, args, kwargs)
