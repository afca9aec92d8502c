"""The streamed response: the only place that makes one.

It reads a run; it does not run anything. An async generator under ASGI, a sync one under WSGI:
Django collects the wrong kind whole before it sends a byte.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import translation

from ..bursts import release_connections
from ..runs.reading import aframes, frames
from ..values import Asker
from .frames import RETRY, encode


def stream_run(
    request: HttpRequest, run_id: Any, asker: Asker, *, last_seen: int, may_see_traces: bool
) -> StreamingHttpResponse:
    """Stream the run's frames after ``last_seen`` to ``asker``, error texts in his language."""
    # This thread's connection would stay open as long as the stream does.
    release_connections()
    make = _asynchronous if isinstance(request, ASGIRequest) else _synchronous
    response = StreamingHttpResponse(
        make(run_id, asker, last_seen, traces=may_see_traces),
        content_type="text/event-stream; charset=utf-8",
    )
    response["Cache-Control"] = "no-store, no-transform"
    response["X-Accel-Buffering"] = "no"
    return response


def _synchronous(run_id: Any, asker: Asker, last_seen: int, *, traces: bool) -> Iterator[str]:
    release_connections()  # middleware may have saved the session behind the view
    yield RETRY
    for entry in frames(run_id, asker, last_seen=last_seen):
        with translation.override(asker.language or None):
            frame = encode(entry, may_see_traces=traces)
        yield frame


async def _asynchronous(
    run_id: Any, asker: Asker, last_seen: int, *, traces: bool
) -> AsyncIterator[str]:
    # In the thread that served the view: middleware may have saved the session behind it.
    await sync_to_async(release_connections, thread_sensitive=True)()
    yield RETRY
    async with aclosing(aframes(run_id, asker, last_seen=last_seen)) as entries:
        async for entry in entries:
            with translation.override(asker.language or None):
                frame = encode(entry, may_see_traces=traces)
            yield frame
