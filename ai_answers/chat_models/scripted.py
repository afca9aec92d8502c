"""A chat model that says what a test told it to, for this project's tests and for a site's own.

In: replies, one per model call, in order. Out: the stream a real model would send: deltas, tool
calls, delays, errors, usage. It records what it was asked. Holds back nothing, no network.

By alias, with the model in the settings of the tests::

    with scripted(say("Open from nine. [1]")) as script:
        ...  # ask a question through the site
    assert "when" in script.requests[0].messages[-1].content

An alias with ``"OPTIONS": {"script": "other"}`` follows ``scripted(…, name="other")``. A single
instance, ``ScriptedChatModel(replies=[…])``, has a script of its own.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from ..values import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call of a reply."""

    name: str
    arguments: str
    """JSON as the model writes it, so it may be broken on purpose."""
    id: str | None = None
    """``None``: a new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the model does in one call: deltas first, then tool calls, then the error."""

    deltas: Sequence[str | list[dict[str, Any]]] = ()
    """Pieces of text, or lists of content blocks."""
    calls: Sequence[Call] = ()
    error: BaseException | None = None
    first_delay_seconds: float = 0.0
    """Before the first delta."""
    delay_seconds: float = 0.0
    """Before each further one."""
    hang_seconds: float = 0.0
    """After the last delta, before the stream goes on or ends."""
    usage: Usage | None = None
    """``None``: no usage is reported."""
    finish_reason: str | None = None
    """``None``: ``tool_calls`` or ``stop``, as fits."""


def say(text: str, **options: Any) -> Reply:
    """Make a reply that streams ``text`` word by word; ``options`` are fields of ``Reply``."""
    return Reply(deltas=text.replace(" ", " \0").split("\0") if text else (), **options)


def call(name: str, /, **arguments: Any) -> Reply:
    """Make a reply that calls the tool ``name`` with ``arguments``."""
    return Reply(calls=(Call(name=name, arguments=json.dumps(arguments)),))


def fail(error: BaseException) -> Reply:
    """Make a reply that raises ``error`` before any content."""
    return Reply(error=error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call the model got."""

    messages: list[BaseMessage]
    tools: list[dict[str, Any]]
    """Tools it was offered, as OpenAI function definitions."""
    options: dict[str, Any]
    """``model``, ``temperature``, ``max_tokens`` as they were overridden."""

    @property
    def system_prompt(self) -> str:
        return "\n".join(m.text for m in self.messages if m.type == "system")


Written = Reply | Callable[[list[BaseMessage]], Reply]


@dataclass(slots=True)
class Script:
    """Replies still to come, and the requests so far. Shared by threads."""

    replies: list[Written]
    """A callable gets the messages and returns the reply."""
    requests: list[Request] = field(default_factory=list)
    closed: int = 0
    """Streams that were ended by their reader before their own end."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next_reply(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            if not self.replies:
                raise AssertionError(
                    f"The script has no reply for call {len(self.requests)}; write one more."
                )
            written = self.replies[0] if callable(self.replies[0]) else self.replies.pop(0)
        return written(request.messages) if callable(written) else written


_scripts: dict[str, Script] = {}


@contextmanager
def scripted(*replies: Written, name: str = "default") -> Iterator[Script]:
    """Let every model of the script ``name`` give ``replies`` inside the block.

    A callable stays in place and answers all calls from there on.
    """
    before = _scripts.get(name)
    script = _scripts[name] = Script(list(replies))
    try:
        yield script
    finally:
        if before is None:
            del _scripts[name]
        else:
            _scripts[name] = before


class ScriptedChatModel(BaseChatModel):
    """A LangChain chat model that follows a script."""

    script: str = "default"
    replies: list[Any] | None = None
    """A script of this instance's own; the named one does not count then."""
    model: str = "scripted"
    temperature: float | None = None
    max_tokens: int | None = None

    _own: Script | None = PrivateAttr(default=None)

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        if self.replies is not None:
            self._own = Script(list(self.replies))

    @property
    def requests(self) -> list[Request]:
        """What the script in force was asked so far."""
        return self._script().requests

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _script(self) -> Script:
        if self._own is not None:
            return self._own
        try:
            return _scripts[self.script]
        except KeyError:
            raise AssertionError(
                f"There is no script {self.script!r}; wrap the test in scripted(…)."
            ) from None

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any):
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _next(self, messages: list[BaseMessage], kwargs: dict[str, Any]) -> tuple[Script, Reply]:
        options = {"model": self.model, "temperature": self.temperature}
        options["max_tokens"] = self.max_tokens
        request = Request(messages=list(messages), tools=kwargs.get("tools", []), options=options)
        script = self._script()
        return script, script.next_reply(request)

    async def _astream(
        self, messages: list[BaseMessage], stop=None, run_manager=None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        script, reply = self._next(messages, kwargs)
        done = False
        try:
            for seconds, chunk in _timeline(reply):
                if seconds:
                    await asyncio.sleep(seconds)
                if chunk is not None:
                    yield chunk
            done = True
            if reply.error is not None:
                raise reply.error
        finally:
            script.closed += not done

    def _stream(
        self, messages: list[BaseMessage], stop=None, run_manager=None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        _, reply = self._next(messages, kwargs)
        for seconds, chunk in _timeline(reply):
            if seconds:
                time.sleep(seconds)
            if chunk is not None:
                yield chunk
        if reply.error is not None:
            raise reply.error

    def _generate(
        self, messages: list[BaseMessage], stop=None, run_manager=None, **kwargs: Any
    ) -> ChatResult:
        chunks = [c.message for c in self._stream(messages, **kwargs)]
        message = chunks[0].__add__(chunks[1:]) if chunks[1:] else chunks[0]
        return ChatResult(generations=[ChatGeneration(message=message)])


def _timeline(reply: Reply) -> Iterator[tuple[float, ChatGenerationChunk | None]]:
    """Yield ``(seconds to wait, chunk)`` in order; the last chunk carries reason and usage."""
    for place, delta in enumerate(reply.deltas):
        seconds = reply.delay_seconds if place else reply.first_delay_seconds
        yield seconds, _chunk(content=delta)
    yield (reply.hang_seconds if reply.deltas else reply.first_delay_seconds), None
    for index, wanted in enumerate(reply.calls):
        half = len(wanted.arguments) // 2
        head = {"name": wanted.name, "args": wanted.arguments[:half], "index": index}
        head["id"] = wanted.id or f"call_{index}_{time.monotonic_ns()}"
        tail = {"name": None, "args": wanted.arguments[half:], "index": index, "id": None}
        yield 0.0, _chunk(tool_call_chunks=[head])
        yield 0.0, _chunk(tool_call_chunks=[tail])
    if reply.error is None:
        reason = reply.finish_reason or ("tool_calls" if reply.calls else "stop")
        usage = reply.usage.as_dict() if reply.usage else None
        metadata = {"finish_reason": reason}
        yield 0.0, _chunk(usage_metadata=usage, response_metadata=metadata, chunk_position="last")


def _chunk(*, content: Any = "", **fields: Any) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(content=content, **fields))
