"""Frames on the wire: server-sent events.

The only module that touches django-eventstream: its frame encoder, safe against newlines and
forged fields since 5.3.4, and its DRF renderer, here for content negotiation alone. Its
channels, storage and views are not used.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django_eventstream.renderers import SSEEventRenderer
from django_eventstream.utils import sse_encode_event

from ..runs.log import Entry
from .errors import message_for

RETRY = "retry: 2000\n\n"
"""Milliseconds a client waits before it comes back."""
HEARTBEAT = ": still here\n\n"


class EventStreamRenderer(SSEEventRenderer):
    """Lets ``Accept: text/event-stream`` through negotiation.

    A stream is a response of its own; what reaches ``render`` is an error, and errors are JSON
    whatever was accepted.
    """

    format = "events"

    def render(self, data: Any, accepted_media_type=None, renderer_context=None) -> bytes:
        return json.dumps(data, ensure_ascii=False).encode()


def encode(entry: Entry | None, *, may_see_traces: bool) -> str:
    """Return the text of one frame, or of a heartbeat for ``None``."""
    if entry is None:
        return HEARTBEAT
    data = dict(entry.frame.data)
    if entry.frame.kind == "error":
        data["message"] = str(message_for(data["code"]))
    if entry.frame.kind in ("done", "stopped"):
        ids = trace_ids(data)
        data = {name: value for name, value in data.items() if name not in ids}
        if may_see_traces:
            data |= ids
    # A string, already JSON: the encoder would write a dict as a Python repr.
    payload = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return sse_encode_event(entry.frame.kind, payload, event_id=str(entry.id))


def trace_ids(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``log_id`` and ``trace_id``, for those who may see them (D21); null where none is."""
    return {"log_id": data.get("log_id"), "trace_id": data.get("trace_id")}
