"""Put tool calls together while a model streams them.

In: chunks of one round. Out: the chunks without calls, to be merged cheaply, and in the end the
calls with clean arguments. Holds back the calls. Keeps no more of a call's arguments than
``MAX_ARGUMENT_CHARS``: merging and parsing megabytes would stall every other run on the loop.
No I/O: feed it chunks.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage

from .text import clean_value

MAX_ARGUMENT_CHARS = 16_000
"""Longer arguments of one tool call are neither kept nor parsed."""
MAX_CALLS = 100
"""Calls of one round that are taken note of; further ones are dropped."""
LONGEST_NAME = 64
LONGEST_ID = 4_000

_NOT_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedCall:
    """A tool call as the model wrote it."""

    id: str
    name: str
    """Made of characters that every provider takes in a history."""
    arguments: dict[str, Any] | None
    """``None``: not a JSON object, or too long."""
    is_too_long: bool = False


@dataclass(slots=True)
class _Written:
    index: int | str | None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    """Of the arguments, also of what was not kept."""


class CallCollector:
    """The calls of one round; ``take`` chunk by chunk, then ``calls`` once."""

    def __init__(self, *, number: int) -> None:
        self._number = number
        self._written: list[_Written] = []
        self.length = 0
        """Characters of all arguments, also of what was not kept."""

    def take(self, chunk: BaseMessage) -> BaseMessage:
        """Take the calls out of ``chunk`` and return the rest of it."""
        pieces = call_chunks(chunk)
        if not pieces:
            for call in _finished(chunk):
                self._add(call)
            return chunk
        too_long = False
        for piece in pieces:
            too_long |= self._add(piece)
        rest: dict[str, Any] = {
            "tool_call_chunks": [],
            "tool_calls": [],
            "invalid_tool_calls": [],
        }
        if too_long:  # some vendors repeat the arguments in here
            rest["additional_kwargs"] = {}
            if not isinstance(chunk.content, str):
                rest["content"] = ""
        return chunk.model_copy(update=rest)

    def calls(self) -> list[RequestedCall]:
        """Return the calls in the order they were begun."""
        found: list[RequestedCall] = []
        taken: set[str] = set()
        for place, written in enumerate(self._written):
            # Ids come from outside: missing, unusable or twice the same, they mix up results.
            key = written.id if _is_id(written.id) and written.id not in taken else ""
            key = key or f"call_{self._number}_{place}"
            taken.add(key)
            is_too_long = written.length > MAX_ARGUMENT_CHARS
            found.append(
                RequestedCall(
                    id=key,
                    name=_NOT_A_NAME.sub("_", written.name)[:LONGEST_NAME] or "unknown",
                    arguments=None if is_too_long else _parse("".join(written.pieces)),
                    is_too_long=is_too_long,
                )
            )
        return found

    def _add(self, piece: dict[str, Any]) -> bool:
        """Add a piece to its call; returns whether that call's arguments are too long."""
        arguments = piece.get("args") or ""
        self.length += len(arguments)
        written = self._find(piece)
        if written is None:
            return True
        written.id = written.id or piece.get("id") or ""
        name = piece.get("name") or ""
        if name != written.name:  # some servers repeat the whole name with every piece
            written.name = (written.name + name)[: 2 * LONGEST_NAME]
        written.length += len(arguments)
        if written.length <= MAX_ARGUMENT_CHARS:
            written.pieces.append(arguments)
            return False
        written.pieces.clear()
        return True

    def _find(self, piece: dict[str, Any]) -> _Written | None:
        """Return the call that ``piece`` goes on with, or a new one; ``None``: one too many."""
        index, given = piece.get("index"), piece.get("id")
        if index is not None:
            for written in reversed(self._written):
                same = not given or not written.id or written.id == given
                if written.index == index and same:
                    return written
        if len(self._written) >= MAX_CALLS:
            return None
        self._written.append(_Written(index))
        return self._written[-1]


def call_chunks(chunk: BaseMessage) -> list[dict[str, Any]]:
    """Return the pieces of tool calls in ``chunk``."""
    return getattr(chunk, "tool_call_chunks", None) or []


def _finished(message: BaseMessage) -> list[dict[str, Any]]:
    """Return the calls of a model that does not stream them, written as one piece each."""
    calls = [
        {"id": c.get("id"), "name": c["name"], "args": json.dumps(c["args"], default=str)}
        for c in getattr(message, "tool_calls", None) or []
    ]
    broken = getattr(message, "invalid_tool_calls", None) or []
    return calls + [{"id": c.get("id"), "name": c.get("name"), "args": "?"} for c in broken]


def _is_id(given: str) -> bool:
    return bool(given) and given.isascii() and given.isprintable() and len(given) <= LONGEST_ID


def _parse(written: str) -> dict[str, Any] | None:
    """Read the JSON of a call; nothing at all means no arguments."""
    if not written.strip():
        return {}
    try:
        parsed = clean_value(json.loads(written))
    except (ValueError, RecursionError):
        return None
    if parsed is None:
        return {}
    return parsed if isinstance(parsed, dict) else None
