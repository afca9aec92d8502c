"""Carry out the tool calls of a round: side by side, but heard of in call order.

In: calls as the model wrote them. Out: ``ToolStarted`` and ``ToolFinished`` events, and one
message a call. ``tool_pre_execute`` is sent in call order before any runs, ``tool_finished`` in
call order after all have ended, so numbers never depend on which tool was faster. Whatever goes
wrong becomes a short message to the model; text of exceptions never does.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from pydantic import ValidationError

from ..bursts import site_burst
from ..conf import app_settings
from ..events import Event, ToolFinished, ToolStarted
from ..exceptions import AnswersError, RunFailed
from ..signals import tool_finished, tool_pre_execute
from .context import AgentRunContext
from .rounds import RequestedCall
from .text import text_of
from .tools import ToolCall, ToolMessageText

logger = logging.getLogger(__name__)

UNKNOWN = "There is no tool of this name. Tools: {names}."
NOT_JSON = "The arguments were not a JSON object. Call the tool again with valid JSON."
WRONG_ARGUMENTS = "These arguments are missing or wrong: {names}. Call the tool again."
TOO_MANY = "Not carried out: too many tool calls at once. Ask again with fewer."
TOO_SLOW = "The tool took too long. Go on without it."
FAILED = "The tool failed. Go on without it."


@dataclass(slots=True)
class _Work:
    """One call on its way through the phases."""

    call: ToolCall
    key: str
    tool: BaseTool | None = None
    message: str = ""
    output: Any = None
    heard: bool = False
    """Whether the signals are sent for it."""


class Toolbox:
    """The tools of one run, and what they answered so far."""

    def __init__(self, context: AgentRunContext, tools: Sequence[BaseTool]) -> None:
        self.context = context
        self.tools = {tool.name: tool for tool in tools}
        self.used: set[str] = set()
        """Names of tools that were carried out."""
        self.messages: list[ToolMessage] = []
        """The results of the calls last run, in call order."""
        self.direct = ""
        """Output of a tool that is itself the answer, once one of those succeeded (T17)."""
        self.only_repeats = False
        """Whether the calls last run were all answered before: the model goes in circles."""
        self._answers: dict[str, str] = {}

    async def run(self, requested: Sequence[RequestedCall]) -> AsyncIterator[Event]:
        """Carry out ``requested``; read to the end, then see ``messages``.

        Raises ``RunFailed`` when a receiver of ``tool_finished`` fails.
        """
        limit = app_settings().MAX_TOOL_CALLS
        works = [self._plan(call, over=place >= limit) for place, call in enumerate(requested)]
        new = self._new(works)
        for work in new:
            await self._announce(work)
            yield ToolStarted(name=work.call.name, query=work.call.query)
        await self._carry_out([work for work in new if not work.message])
        for work in new:
            await self._conclude(work)
            yield ToolFinished(name=work.call.name)
        self.only_repeats = bool(works) and not new and all(w.key in self._answers for w in works)
        self.messages = [
            ToolMessage(
                content=work.message or self._answers.get(work.key, FAILED),
                tool_call_id=work.call.id,
                name=work.call.name,
            )
            for work in works
        ]

    def _plan(self, requested: RequestedCall, *, over: bool) -> _Work:
        arguments = requested.arguments
        call = ToolCall(id=requested.id, name=requested.name, arguments=dict(arguments or {}))
        work = _Work(call, key=f"{requested.name} {json.dumps(arguments, sort_keys=True)}")
        if over:
            work.message = TOO_MANY
        elif requested.name not in self.tools:
            work.message = UNKNOWN.format(names=", ".join(self.tools) or "none")
        elif arguments is None:
            work.message = NOT_JSON
        else:
            work.tool = self.tools[requested.name]
        return work

    def _new(self, works: Sequence[_Work]) -> list[_Work]:
        """Return what has to run: each call once, however often it was asked for."""
        seen = set(self._answers)
        new = []
        for work in works:
            if work.tool is not None and work.key not in seen:
                seen.add(work.key)
                new.append(work)
        return new

    async def _announce(self, work: _Work) -> None:
        try:
            await tool_pre_execute.asend(
                self.context.agent, run_id=self.context.run_id, call=work.call
            )
        except Exception:
            logger.exception("A receiver of tool_pre_execute failed; the tool is not run.")
            work.message = FAILED

    async def _carry_out(self, works: Sequence[_Work]) -> None:
        tasks = [asyncio.ensure_future(self._execute(work)) for work in works]
        try:
            if tasks:
                await asyncio.wait(tasks)
        finally:
            for task in tasks:
                task.cancel()  # no effect on those that ended
        for task in tasks:
            task.result()

    async def _execute(self, work: _Work) -> None:
        """Run one tool in time and fill in its message and structured output."""
        self.used.add(work.call.name)
        try:
            async with asyncio.timeout(app_settings().TOOL_SECONDS):
                work.message, work.output = await _invoke(work.tool, work.call)
        except TimeoutError:
            # A sync tool's thread cannot be stopped; what it still finds is thrown away.
            logger.warning("Tool %r took too long.", work.call.name)
            work.message = TOO_SLOW
        except ValidationError as error:
            work.message = _wrong_arguments(work.tool, error)
        except Exception:
            logger.exception("Tool %r failed.", work.call.name)
            work.message = FAILED
        else:
            if work.tool.return_direct and not self.direct:
                self.direct = work.message

    async def _conclude(self, work: _Work) -> None:
        text = ToolMessageText(work.message)
        try:
            await tool_finished.asend(
                self.context.agent,
                run_id=self.context.run_id,
                call=work.call,
                output=work.output,
                message=text,
            )
        except AnswersError:
            raise
        except Exception as error:
            raise RunFailed("A receiver of tool_finished failed.") from error
        work.message = self._answers[work.key] = text.text


async def _invoke(tool: BaseTool, call: ToolCall) -> tuple[str, Any]:
    """Run ``tool``; return its message and its structured output, if it has one.

    The structured output is the artifact of a tool that declares one, else whatever it returned
    that is not text.
    """
    arguments = dict(call.arguments)
    has_artifact = tool.response_format == "content_and_artifact"
    given: Any = arguments
    if has_artifact:
        given = {"type": "tool_call", "id": call.id, "name": tool.name, "args": arguments}
    if _is_async(tool):
        result = await tool.ainvoke(given)
    else:
        result = await site_burst(tool.invoke, given)
    if isinstance(result, ToolMessage):
        return text_of(result.content), result.artifact
    if isinstance(result, str):
        return result, None
    return json.dumps(result, ensure_ascii=False, default=str), result


def _is_async(tool: BaseTool) -> bool:
    if hasattr(tool, "coroutine"):
        return tool.coroutine is not None
    return type(tool)._arun is not BaseTool._arun


def _wrong_arguments(tool: BaseTool, error: ValidationError) -> str:
    wrong = {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}
    names = sorted(wrong & set(tool.args)) or ["one of them"]
    return WRONG_ARGUMENTS.format(names=", ".join(names))
