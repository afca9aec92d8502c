"""A chat model without a language model: it quotes the sentences that answer the question.

In: the messages of an agent's round. Out: a line that says what this is, then quotations with
citations, in several deltas; or no text at all when the sources do not cover the question, so
that the site's own no-answer message is shown. On a follow-up it calls the search tool first,
with the question made complete from the one before. No network, no randomness.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool

from ..bursts import burst
from ..sources.block import NumberedText, parse_sources
from ..tokens import count_tokens
from .quoting import quote, self_contained

DELTA_WORDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Conversation:
    """What the messages of one round come down to."""

    question: str
    earlier: tuple[str, ...]
    """Questions of earlier turns, oldest first."""
    searched: bool
    """Whether a tool was called for this question."""
    sources: tuple[NumberedText, ...]

    @classmethod
    def read(cls, messages: Sequence[BaseMessage]) -> _Conversation:
        asked = [place for place, m in enumerate(messages) if m.type == "human"]
        last = asked[-1] if asked else -1
        results = [m.text for m in messages[last + 1 :] if m.type == "tool"]
        prompts = [m.text for m in messages if m.type == "system"]
        # What was searched for this question counts alone: the prompt may hold older sources.
        numbered: dict[int, NumberedText] = {}
        for text in results or prompts:
            for source in parse_sources(text):
                numbered.setdefault(source.number, source)
        return cls(
            question=messages[last].text if asked else "",
            earlier=tuple(messages[place].text for place in asked[:-1]),
            searched=bool(results),
            sources=tuple(numbered.values()),
        )


class ExtractiveChatModel(BaseChatModel):
    """Answers by quoting. The options of other chat models are accepted and change nothing."""

    model: str = "extractive"
    temperature: float | None = None
    max_tokens: int | None = None

    @property
    def _llm_type(self) -> str:
        return "extractive"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any):
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    async def _astream(
        self, messages: list[BaseMessage], stop=None, run_manager=None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        # Tens of milliseconds of computing: too long for a loop that others stream on.
        for message in await burst(_reply, messages, kwargs.get("tools") or []):
            yield ChatGenerationChunk(message=message)

    def _stream(
        self, messages: list[BaseMessage], stop=None, run_manager=None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        for message in _reply(messages, kwargs.get("tools") or []):
            yield ChatGenerationChunk(message=message)

    def _generate(
        self, messages: list[BaseMessage], stop=None, run_manager=None, **kwargs: Any
    ) -> ChatResult:
        first, *rest = _reply(messages, kwargs.get("tools") or [])
        message = first.__add__(rest) if rest else first
        return ChatResult(generations=[ChatGeneration(message=message)])


def _reply(messages: list[BaseMessage], tools: list[dict[str, Any]]) -> list[AIMessageChunk]:
    conversation = _Conversation.read(messages)
    read = sum(count_tokens(m.text) for m in messages)
    query, added = self_contained(conversation.question, conversation.earlier)
    search = _search_tool(tools)
    if search and conversation.earlier and not conversation.searched:
        arguments = json.dumps({"query": query}, ensure_ascii=False)
        call = {"name": search, "args": arguments, "id": f"search_{len(messages)}", "index": 0}
        asked = AIMessageChunk(content="", tool_call_chunks=[call])
        return [asked, _last("tool_calls", read=read, written=count_tokens(query))]
    found = quote(conversation.question, conversation.sources, background=added)
    if not found:
        return [_last("stop", read=read, written=0)]
    notice = gettext("These are quotations from the sources, not written by a language model:")
    text = "\n\n".join([notice, *(quotation.as_markdown() for quotation in found)])
    deltas = re.findall(rf"(?:\S*\s+){{1,{DELTA_WORDS}}}|\S+$", text)
    last = _last("stop", read=read, written=count_tokens(text))
    return [*(AIMessageChunk(content=delta) for delta in deltas), last]


def _search_tool(tools: list[dict[str, Any]]) -> str:
    """Return the name of the offered tool that takes a query; empty when there is none."""
    for tool in tools:
        function = tool.get("function", {})
        if "query" in function.get("parameters", {}).get("properties", {}):
            return function["name"]
    return ""


def _last(reason: str, *, read: int, written: int) -> AIMessageChunk:
    usage = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    return AIMessageChunk(
        content="",
        usage_metadata=usage,
        response_metadata={"finish_reason": reason},
        chunk_position="last",
    )
