"""Short bursts of sync work from async code, with no database connection kept afterwards.

A burst is one sync function that touches the database and returns plain data. It runs on a
bounded executor in the caller's context (so the active language comes along), and the thread
closes its connections behind it. Tools, searches and receivers run on executors of their own:
eight tools that hang keep neither a turn from being saved nor a search from being made. Threads
that a caller gave up waiting for are counted; once all of an executor hang, another takes over,
until ``MOST_LEFT_BEHIND`` hang in all.

What a site's code must not do to the process (``SystemExit`` in a tool) arrives as
``RuntimeError``. Inside ``inline()`` (the inline runner, a ``TestCase``) bursts run on the
calling thread and share its connection and transaction, each behind a savepoint.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import connections, transaction

P = ParamSpec("P")
T = TypeVar("T")

logger = logging.getLogger(__name__)

THREADS = 8
"""Of each executor."""
MOST_LEFT_BEHIND = 4 * THREADS
"""Threads of one kind that may hang before further calls of that kind are refused."""

_inline: contextvars.ContextVar[bool] = contextvars.ContextVar("ai_answers_inline", default=False)
_pools: dict[tuple[int, str], _Pool] = {}


class ShuttingDown(RuntimeError):
    """The process is ending and starts no more threads. Pass it on; there is nothing to log."""


class ThreadsHang(RuntimeError):
    """Too many calls of one kind never returned; further ones are refused until some do."""


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
    """Run a sync tool of the site."""
    return await _run("tools", function, args, kwargs)


async def search_burst(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a search, which may wait for an embedding service or a reranker."""
    return await _run("searches", function, args, kwargs)


async def receiver_burst(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a sync receiver of a signal, or build a part that a setting names."""
    return await _run("receivers", function, args, kwargs)


async def contained(awaitable: Awaitable[T]) -> T:
    """Await async code of the site; an attempt to end the process or task is a ``RuntimeError``."""
    cancels = _cancels()
    try:
        return await awaitable
    except (asyncio.CancelledError, SystemExit, KeyboardInterrupt) as error:
        if isinstance(error, asyncio.CancelledError) and _cancels() > cancels:
            raise
        raise _escape(error) from error


async def _run(name: str, function: Callable, args: tuple, kwargs: dict) -> Any:
    if _inline.get():
        return await sync_to_async(_call_inline, thread_sensitive=True)(function, args, kwargs)
    # Keyed by process: a forked worker inherits the dict, but not the threads.
    key = (os.getpid(), name)
    pool = _pools.get(key) or _pools.setdefault(key, _Pool(name))
    cancels = _cancels()
    while True:
        call = _Call(pool.executor(), function, args, kwargs)
        # asgiref takes the context along and hands its own locals (the active language) to the
        # thread; a bare copy of the context would not: asgiref ties its locals to threads.
        start = sync_to_async(pool.call, thread_sensitive=False, executor=call.executor)
        try:
            return await start(call)
        except asyncio.CancelledError as error:
            pool.leave(call)
            if _cancels() > cancels:
                raise
            if call.began:
                raise _escape(error) from error
            # It queued behind threads that hang, and its executor was given up: once more.
        except RuntimeError as error:
            if call.began or "cannot schedule new futures" not in str(error):
                raise
            # Its executor is closed: by the interpreter on its way out, or given up by the pool.
            if pool.executor() is call.executor:
                raise ShuttingDown("The process is ending.") from None


def _cancels() -> int:
    task = asyncio.current_task()
    return task.cancelling() if task else 0


def _escape(error: BaseException) -> RuntimeError:
    return RuntimeError(f"{type(error).__name__} was raised where only an Exception may be.")


def _call(function: Callable, args: tuple, kwargs: dict) -> Any:
    try:
        return function(*args, **kwargs)
    except (SystemExit, GeneratorExit, StopIteration) as error:
        raise _escape(error) from error  # no future can carry a StopIteration
    except KeyboardInterrupt as error:
        if threading.current_thread() is threading.main_thread():
            raise  # somebody's Ctrl-C
        raise _escape(error) from error


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
        return _call(function, args, kwargs)


@dataclass(slots=True, eq=False)
class _Call:
    executor: ThreadPoolExecutor
    function: Callable
    args: tuple
    kwargs: dict
    began: bool = False
    ended: bool = False
    is_left: bool = False


class _Pool:
    """The threads for one kind of work in this process."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._executor = self._new()
        self._lock = threading.Lock()
        self._hanging = 0
        """Threads of the executor in use that nobody waits for any more."""
        self._left = 0
        """The same of all executors so far."""

    def executor(self) -> ThreadPoolExecutor:
        """Return the executor to use now, or raise ``ThreadsHang``."""
        with self._lock:
            if self._hanging >= THREADS and not self._replace():
                raise ThreadsHang(f"{self._left} threads for {self.name} hang; none is left.")
            return self._executor

    def call(self, call: _Call) -> Any:
        """Carry out ``call``; the thread's connections are closed after."""
        with self._lock:
            if call.is_left:
                return None
            call.began = True
        try:
            return _call(call.function, call.args, call.kwargs)
        finally:
            connections.close_all()
            with self._lock:
                call.ended = True
                if call.is_left:
                    self._left -= 1
                    self._hanging -= call.executor is self._executor

    def leave(self, call: _Call) -> None:
        """Note that nobody waits for ``call`` any more, although its thread may still run."""
        if self.name == "bursts":
            return  # the app's own work ends by itself, and is done although nobody waits
        with self._lock:
            call.is_left = True
            if not call.began or call.ended:
                return
            self._left += 1
            self._hanging += call.executor is self._executor
            if self._hanging >= THREADS and not self._replace():
                logger.error("%d threads for %s hang; calls are refused.", self._left, self.name)

    def _replace(self) -> bool:
        if self._left >= MOST_LEFT_BEHIND:
            return False
        logger.error("All %d threads for %s hang; new ones take over.", THREADS, self.name)
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._executor, self._hanging = self._new(), 0
        return True

    def _new(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(THREADS, thread_name_prefix=f"ai_answers-{self.name}")
