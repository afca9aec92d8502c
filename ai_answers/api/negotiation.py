"""What goes in and out: JSON bodies within limits; a stream for who asks for one, else JSON."""

from __future__ import annotations

import json
from typing import Any

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.utils.mediatypes import _MediaType

from ..conf import app_settings
from ..exceptions import BodyTooLarge, InvalidQuestion


class BoundedJSONParser(JSONParser):
    """A JSON object of at most ``MAX_BODY_BYTES`` bytes."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> dict:
        limit = app_settings().MAX_BODY_BYTES
        raw = stream.read(limit + 1)
        if len(raw) > limit:
            raise BodyTooLarge(f"The body is longer than {limit} bytes.")
        try:
            data = json.loads(raw.decode("utf-8"), parse_constant=_refuse)
        except (ValueError, RecursionError):
            raise InvalidQuestion("The body is not valid JSON in UTF-8.") from None
        if not isinstance(data, dict):
            raise InvalidQuestion(f"The body must be a JSON object, not {type(data).__name__}.")
        return data


def _refuse(name: str) -> Any:
    # Python reads and writes NaN and Infinity, JSON knows neither.
    raise ValueError(f"{name!r} is no JSON.")


class StreamOrJSON(BaseContentNegotiation):
    """``text/event-stream`` when it is accepted by name; anything else gets JSON, never 406."""

    def select_parser(self, request: Any, parsers: list[Any]) -> Any:
        sent = _MediaType(request.content_type)
        return next((p for p in parsers if _MediaType(p.media_type).match(sent)), None)

    def select_renderer(self, request: Any, renderers: list[Any], format_suffix: Any = None) -> Any:
        stream, plain = renderers
        chosen = stream if accepts_stream(request.META.get("HTTP_ACCEPT", "")) else plain
        return chosen, chosen.media_type


def accepts_stream(accept: str) -> bool:
    """Return whether an Accept header names ``text/event-stream`` and does not refuse it."""
    for item in accept.split(","):
        name, *parameters = (part.strip().lower() for part in item.split(";"))
        if name == "text/event-stream":
            return not any(
                p.replace(" ", "") in ("q=0", "q=0.0", "q=0.00", "q=0.000") for p in parameters
            )
    return False
