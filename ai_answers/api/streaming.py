"""The streamed response: the only place that makes one.

It reads a run; it does not run anything. An async generator under ASGI, a sync one under WSGI:
Django collects the wrong kind whole before it sends a byte.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import translation

from ..runs.reading import aframes, frames, release_connections
from .frames import RETRY, encode


def stream_run(
    request: HttpRequest, run_id: Any, *, last_seen: int, language: str, may_see_traces: bool
) -> StreamingHttpResponse:
    """Stream the run's frames after ``last_seen``; ``language`` is that of error texts."""
    # This thread's connection would stay open as long as the stream does.
    release_connections()
    make = _asynchronous if isinstance(request, ASGIRequest) else _synchronous
    response = StreamingHttpResponse(
        make(run_id, last_seen, language, traces=may_see_traces),
        content_type="text/event-stream; charset=utf-8",
    )
    response["Cache-Control"] = "no-store, no-transform"
    response["X-Accel-Buffering"] = "no"
    return response


def _synchronous(run_id: Any, last_seen: int, language: str, *, traces: bool) -> Iterator[str]:
    yield RETRY
    for entry in frames(run_id, last_seen=last_seen):
        with translation.override(language or None):
            frame = encode(entry, may_see_traces=traces)
        yield frame


async def _asynchronous(
    run_id: Any, last_seen: int, language: str, *, traces: bool
) -> AsyncIterator[str]:
    yield RETRY
    async for entry in aframes(run_id, last_seen=last_seen):
        with translation.override(language or None):
            frame = encode(entry, may_see_traces=traces)
        yield frame
