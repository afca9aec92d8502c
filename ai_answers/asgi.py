"""The end of an ASGI server, as far as it concerns runs.

Django's ASGI application knows no lifespan, so nothing tells an app that its server stops: uvicorn
for one ends by its own signal, past every exit handler. In ``asgi.py`` of the project::

    application = with_lifespan(get_asgi_application())
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import sync_to_async

Application = Callable[[Any, Any, Any], Awaitable[None]]


def with_lifespan(application: Application) -> Application:
    """Return ``application`` with a lifespan whose end saves the unfinished runs.

    It answers the lifespan itself. An application that has one of its own, such as a Starlette
    around Django, awaits ``end_runs`` in it instead.
    """

    async def answering(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await application(scope, receive, send)
            return
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await end_runs()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return

    return answering


async def end_runs() -> None:
    """Interrupt the runs of this process and save what they have written, within seconds."""
    from .runs import shutdown  # needs models, and this module is imported before they are there

    await sync_to_async(shutdown.end_runs, thread_sensitive=False)()
