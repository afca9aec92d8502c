"""One call of the chat model: its stream as text, with timers, then what it asked for.

In: messages and a chat model. Out: pieces of visible text; afterwards tool calls, usage and the
reason it ended. Holds back nothing but half a character. The model's HTTP stream is closed as
soon as the round ends, in whatever way. Test it with ``ScriptedChatModel``.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage

from ..conf import app_settings
from ..exceptions import ModelFailed, ModelTimeout
from ..tokens import count_tokens
from ..values import Usage
from .errors import failed, model_error
from .text import CleanText, text_of

MAX_ARGUMENT_CHARS = 16_000
"""Longer arguments of one tool call are not even parsed."""

# Vendors' names for why a stream ended.
_REASONS = ("finish_reason", "stop_reason", "done_reason", "stopReason", "status")
_NOT_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedCall:
    """A tool call as the model wrote it."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    """``None``: not a JSON object."""


class ModelRound:
    """One model call. Read ``text()`` to its end, then the attributes."""

    def __init__(self, *, number: int) -> None:
        self.number = number
        self.calls: list[RequestedCall] = []
        self.usage = Usage()
        self.finish_reason = ""
        self._chunks: list[BaseMessage] = []
        self._text: list[str] = []
        self._rejected = False

    async def text(self, model: Any, messages: Sequence[BaseMessage]) -> AsyncIterator[str]:
        """Stream the visible text, never an empty piece.

        Raises ``ModelTimeout`` or ``ModelFailed``; usage so far is kept either way.
        """
        clean = CleanText()
        try:
            async for chunk in _in_time(model.astream(list(messages))):
                self._chunks.append(chunk)
                raw = text_of(chunk.content)
                if raw and (piece := clean.feed(raw)):
                    self._text.append(piece)
                    yield piece
            if piece := clean.flush():
                self._text.append(piece)
                yield piece
        except ModelFailed:
            self._rejected = not self._chunks
            raise
        finally:
            self._settle(messages)
        self._check_end()
        self.calls = _requested_calls(self._chunks, number=self.number)

    def message(self, *, with_calls: bool = True) -> AIMessage:
        """Return what the model said as it goes into its own history.

        Broken calls and impossible names are mended: providers refuse a history that has them.
        """
        whole = _merge(self._chunks)
        content = whole.content if isinstance(whole.content, list) else "".join(self._text)
        extra = {k: v for k, v in whole.additional_kwargs.items() if k not in _CALL_KEYS}
        calls = [
            {
                "id": call.id,
                "name": _NOT_A_NAME.sub("_", call.name)[:64] or "unknown",
                "args": call.arguments or {},
                "type": "tool_call",
            }
            for call in self.calls
        ]
        return AIMessage(
            content=content,
            additional_kwargs=extra,
            response_metadata=whole.response_metadata,
            tool_calls=calls if with_calls else [],
        )

    def _settle(self, messages: Sequence[BaseMessage]) -> None:
        if self._rejected:
            return  # nothing was read or written
        reported = [u for c in self._chunks if (u := getattr(c, "usage_metadata", None))]
        if reported:
            self.usage = Usage(
                input_tokens=sum(u.get("input_tokens") or 0 for u in reported),
                output_tokens=sum(u.get("output_tokens") or 0 for u in reported),
            )
        else:
            arguments = (c.get("args") or "" for chunk in self._chunks for c in _call_chunks(chunk))
            self.usage = Usage(
                input_tokens=sum(count_tokens(text_of(m.content)) for m in messages),
                output_tokens=count_tokens("".join(self._text)) + count_tokens("".join(arguments)),
            )
        for chunk in self._chunks:
            for name in _REASONS:
                if reason := chunk.response_metadata.get(name):
                    self.finish_reason = str(reason)

    def _check_end(self) -> None:
        if self.finish_reason == "content_filter":
            raise failed("content_filter", "The provider's content filter ended the answer.")
        # This protocol always says why it ends; where it did not, the connection was cut.
        providers = {c.response_metadata.get("model_provider") for c in self._chunks}
        if not self.finish_reason and "openai" in providers:
            raise failed("model_unreachable", "The chat model's stream was cut off.")


_CALL_KEYS = ("tool_calls", "function_call")


async def _in_time(stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Pass chunks on while content keeps coming; what only keeps the line open does not count.

    The time a reader takes between two chunks does not count either.
    """
    settings = app_settings()
    left = settings.FIRST_CONTENT_SECONDS
    what = "to its first content"
    clock = asyncio.get_running_loop().time
    try:
        while True:
            begun = clock()
            try:
                async with asyncio.timeout(max(left, 0)) as timer:
                    chunk = await anext(stream)
            except StopAsyncIteration:
                return
            except TimeoutError as error:
                if timer.expired():
                    raise ModelTimeout(f"The chat model took too long {what}.") from error
                raise model_error(error) from error
            except Exception as error:
                raise model_error(error) from error
            if _is_progress(chunk):
                left, what = settings.IDLE_CONTENT_SECONDS, "between two pieces of content"
            else:
                left -= clock() - begun
            yield chunk
    finally:
        # Not left to the garbage collector: this closes the HTTP response.
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()


def _is_progress(chunk: BaseMessage) -> bool:
    """Whether the chunk holds text, reasoning or a piece of a tool call."""
    return (
        bool(chunk.content)
        or bool(_call_chunks(chunk))
        or bool(chunk.additional_kwargs.get("reasoning_content"))
    )


def _call_chunks(chunk: BaseMessage) -> list[dict[str, Any]]:
    return getattr(chunk, "tool_call_chunks", None) or []


def _merge(chunks: list[BaseMessage]) -> BaseMessage:
    if not chunks:
        return AIMessage(content="")
    first, *rest = chunks
    return first.__add__(rest) if rest and isinstance(first, AIMessageChunk) else first


def _requested_calls(chunks: list[BaseMessage], *, number: int) -> list[RequestedCall]:
    if not any(_call_chunks(c) or getattr(c, "tool_calls", None) or _broken(c) for c in chunks):
        return []
    whole = _merge(chunks)
    written = _call_chunks(whole)
    if written:
        found = [(c.get("id"), c.get("name"), _parse(c.get("args"))) for c in written]
    else:  # a model that does not stream gives finished calls
        found = [(c["id"], c["name"], c["args"]) for c in whole.tool_calls]
        found += [(c.get("id"), c.get("name"), None) for c in _broken(whole)]
    calls: list[RequestedCall] = []
    taken: set[str] = set()
    for place, (given, name, arguments) in enumerate(found):
        # Ids come from outside: missing, empty or twice the same, they would mix up results.
        key = given if given and given not in taken else f"call_{number}_{place}"
        taken.add(key)
        calls.append(RequestedCall(id=key, name=name or "", arguments=arguments))
    return calls


def _broken(message: BaseMessage) -> list[dict[str, Any]]:
    return getattr(message, "invalid_tool_calls", None) or []


def _parse(written: str | None) -> dict[str, Any] | None:
    """Read the JSON of a call; nothing at all means no arguments."""
    if not written or not written.strip():
        return {}
    if len(written) > MAX_ARGUMENT_CHARS:
        return None
    try:
        parsed = json.loads(written)
    except (ValueError, RecursionError):
        return None
    if parsed is None:
        return {}
    return parsed if isinstance(parsed, dict) else None
