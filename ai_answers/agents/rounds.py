"""One call of the chat model: its stream as text, with timers, then what it asked for.

In: messages and a chat model. Out: pieces of visible text; afterwards tool calls, usage and the
reason it ended. Holds back nothing but half a character. The model's HTTP stream is closed as
soon as the round ends, in whatever way. Test it with ``ScriptedChatModel``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage

from ..bursts import ShuttingDown
from ..conf import app_settings
from ..exceptions import ModelFailed, ModelTimeout
from ..tokens import CHARS_PER_TOKEN, count_tokens
from ..values import Usage
from .errors import failed, model_error
from .limits import message_tokens
from .requested import CallCollector, RequestedCall, call_chunks
from .text import CleanText, text_of

logger = logging.getLogger(__name__)

# Vendors' names for why a stream ended.
_REASONS = ("finish_reason", "stop_reason", "done_reason", "stopReason", "status")


_REFUSALS = ("content_filter", "refusal", "safety", "prohibited_content", "blocklist")
_LIMITS = ("length", "max_tokens")


class ModelRound:
    """One model call. Read ``text()`` to its end, then the attributes."""

    def __init__(self, *, number: int, most_tokens: int) -> None:
        """``most_tokens``: what a provider may report for one side; more than that is a lie."""
        self.number = number
        self.calls: list[RequestedCall] = []
        self.usage = Usage()
        self.finish_reason = ""
        self._most_tokens = most_tokens
        self._chunks: list[BaseMessage] = []
        self._text: list[str] = []
        self._collector = CallCollector(number=number)
        self._rejected = False

    @property
    def has_text(self) -> bool:
        """Whether any visible text came."""
        return bool(self._text)

    @property
    def is_cut(self) -> bool:
        """Whether the model stopped at its output limit."""
        return self.finish_reason.lower() in _LIMITS

    async def text(
        self, model: Any, messages: Sequence[BaseMessage], *, first_content_seconds: float
    ) -> AsyncIterator[str]:
        """Stream the visible text, never an empty piece.

        Raises ``ModelTimeout`` or ``ModelFailed``; usage so far is kept either way.
        """
        clean = CleanText()
        try:
            stream = model.astream(list(messages))
            async for chunk in _in_time(stream, first_content_seconds=first_content_seconds):
                self._keep(chunk)
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
        self.calls = self._collector.calls()

    def message(self, *, with_calls: bool = True) -> AIMessage:
        """Return what the model said as it goes into its own history.

        Broken calls go without arguments: providers refuse a history that has them.
        """
        whole = _merge(self._chunks)
        content = whole.content if isinstance(whole.content, list) else "".join(self._text)
        extra = {k: v for k, v in whole.additional_kwargs.items() if k not in _CALL_KEYS}
        calls = [
            {
                "id": call.id,
                "name": call.name,
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

    def _keep(self, chunk: BaseMessage) -> None:
        rest = self._collector.take(chunk)
        last = self._chunks[-1].response_metadata if self._chunks else None
        says = rest.content or rest.additional_kwargs or getattr(rest, "usage_metadata", None)
        # What held pieces of calls alone says nothing any more; there may be thousands.
        if says or rest.response_metadata != last:
            self._chunks.append(rest)

    def _settle(self, messages: Sequence[BaseMessage]) -> None:
        if self._rejected:
            return  # nothing was read or written
        reported = [u for c in self._chunks if (u := getattr(c, "usage_metadata", None))]
        if reported:
            read = sum(u.get("input_tokens") or 0 for u in reported)
            written = sum(u.get("output_tokens") or 0 for u in reported)
        else:
            read = sum(map(message_tokens, messages))
            written = count_tokens("".join(self._text))
            written += sum(count_tokens(_reasoning(chunk)) for chunk in self._chunks)
            written += -(-self._collector.length // CHARS_PER_TOKEN)
        self.usage = Usage(
            input_tokens=min(max(read, 0), self._most_tokens),
            output_tokens=min(max(written, 0), self._most_tokens),
        )
        for chunk in self._chunks:
            for name in _REASONS:
                if reason := chunk.response_metadata.get(name):
                    self.finish_reason = str(reason)

    def _check_end(self) -> None:
        if self.finish_reason.lower() in _REFUSALS:
            raise failed("content_filter", "The provider's content filter ended the answer.")
        if any(map(_is_refusal, self._chunks)):
            raise failed("content_filter", "The chat model refused to answer.")
        if self.is_cut and not (self._text or self._collector.calls()):
            raise failed("model_failed", "The chat model reached its output limit before any text.")
        # This protocol always says why it ends; where it did not, the connection was cut. Of other
        # vendors that is sure only where nothing came at all.
        providers = {c.response_metadata.get("model_provider") for c in self._chunks}
        has_content = self._text or self._collector.length or self._collector.calls()
        if not self.finish_reason and ("openai" in providers or not has_content):
            raise failed("model_unreachable", "The chat model's stream was cut off.")


_CALL_KEYS = ("tool_calls", "function_call")


async def _in_time(
    stream: AsyncIterator[Any], *, first_content_seconds: float
) -> AsyncIterator[Any]:
    """Pass chunks on while content keeps coming; what only keeps the line open does not count.

    The time a reader takes between two chunks does not count either. A cancellation that the
    vendor's package swallows, as ``asyncio.wait_for`` may before Python 3.12, is raised here.
    """
    task = asyncio.current_task()
    cancels = task.cancelling()
    idle_seconds = app_settings().IDLE_CONTENT_SECONDS
    left = first_content_seconds
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
                    raise ModelTimeout(f"The chat model took too long {what}.") from None
                raise _told_apart(error) from None
            except ShuttingDown:
                raise
            except (Exception, SystemExit, KeyboardInterrupt) as error:
                raise _told_apart(error) from None
            if task.cancelling() > cancels:
                raise asyncio.CancelledError
            if _is_progress(chunk):
                left, what = idle_seconds, "between two pieces of content"
            else:
                left -= clock() - begun
            yield chunk
    finally:
        # Not left to the garbage collector: this closes the HTTP response.
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()


def _told_apart(error: BaseException) -> Exception:
    """Return our error for ``error``, which is not chained: it may quote the question or a key."""
    logger.debug("The chat model failed.", exc_info=error)
    return model_error(error)


def _is_progress(chunk: BaseMessage) -> bool:
    """Whether the chunk holds text, reasoning or a piece of a tool call."""
    return (
        bool(chunk.content)
        or bool(call_chunks(chunk))
        or bool(_reasoning(chunk))
        or _is_refusal(chunk)
    )


def _reasoning(chunk: BaseMessage) -> str:
    text = chunk.additional_kwargs.get("reasoning_content")
    return text if isinstance(text, str) else ""


def _is_refusal(chunk: BaseMessage) -> bool:
    """Whether the model says in the protocol's own terms that it will not answer."""
    blocks = chunk.content if isinstance(chunk.content, list) else []
    return bool(chunk.additional_kwargs.get("refusal")) or any(
        isinstance(block, dict) and block.get("type") == "refusal" for block in blocks
    )


def _merge(chunks: list[BaseMessage]) -> BaseMessage:
    if not chunks:
        return AIMessage(content="")
    first, *rest = chunks
    return first.__add__(rest) if rest and isinstance(first, AIMessageChunk) else first
