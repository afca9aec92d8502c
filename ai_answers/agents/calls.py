"""Carry out the tool calls of a round: side by side, but heard of in call order.

In: calls as the model wrote them. Out: ``ToolStarted`` and ``ToolFinished`` events, and one
message a call. ``tool_pre_execute`` is sent in call order before any runs, ``tool_finished`` in
call order after all have ended, so numbers never depend on which tool was faster. Whatever goes
wrong becomes a short message to the model; text of exceptions never does. Messages are cleaned and
cut to ``tool_message_bound()``.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from pydantic import ValidationError

from ..bursts import ShuttingDown, search_burst
from ..conf import app_settings
from ..events import Event, ToolDeclined, ToolFinished, ToolStarted
from ..exceptions import AnswersError, RunFailed, trace
from ..models import AgentTool
from ..signals import tool_finished, tool_pre_execute
from ..tools import listed
from ..tools.arguments import applied, kept, offered, problems
from .context import AgentRunContext
from .invoking import contained_tool, invoke, wrong_arguments
from .limits import cut, tool_message_bound
from .requested import MAX_ARGUMENT_CHARS, RequestedCall
from .text import clean_text
from .tools import ToolCall, ToolMessageText

logger = logging.getLogger(__name__)

UNKNOWN = "There is no tool of this name. Tools: {names}."
NOT_JSON = "The arguments were not a JSON object. Call the tool again with valid JSON."
TOO_LONG = (
    f"The arguments were longer than {MAX_ARGUMENT_CHARS} characters. Call the tool again with a "
    "short JSON object."
)
TOO_MANY = "Not carried out: too many tool calls at once. Ask again with fewer."
TOO_SLOW = "The tool took too long. Go on without it."
FAILED = "The tool failed. Go on without it."


@dataclass(slots=True, eq=False)
class _Work:
    """One call on its way through the phases."""

    call: ToolCall
    key: str
    tool: BaseTool | None = None
    message: str = ""
    output: Any = None
    failure: str = ""
    """Why it was not, or not well, carried out; for the run log."""
    seconds: float = 0.0


class Toolbox:
    """The tools of one run, and what they answered so far."""

    def __init__(self, context: AgentRunContext, tools: Sequence[BaseTool]) -> None:
        self.context = context
        self._rows = {row.tool: row for row in context.agent.tools.all()}
        self.tools = {tool.name: contained_tool(tool) for tool in tools if self._fits(tool)}
        self._shown = {
            name: offered(tool, self._row(name).arguments) for name, tool in self.tools.items()
        }
        self.used: set[str] = set()
        """Names of tools that were carried out."""
        self.messages: list[ToolMessage] = []
        """The results of the calls last run, in call order."""
        self.direct = ""
        """Output of a tool that is itself the answer, once one of those succeeded (T17)."""
        self.only_repeats = False
        """Whether the calls last run were all answered before: the model goes in circles."""
        self._answers: dict[str, str] = {}

    @property
    def offered(self) -> list[BaseTool]:
        """The tools as the model may see them: without what the site forces (T7)."""
        return list(self._shown.values())

    async def run(self, requested: Sequence[RequestedCall]) -> AsyncIterator[Event]:
        """Carry out ``requested``; read to the end, then see ``messages``.

        Raises ``RunFailed`` when a receiver of ``tool_finished`` fails.
        """
        limit = app_settings().MAX_TOOL_CALLS
        works = [self._plan(call, over=place >= limit) for place, call in enumerate(requested)]
        new = self._new(works)
        for work in works:
            if work not in new:
                yield ToolDeclined(name=work.call.name, reason=work.failure or "repeated")
        for work in new:
            await self._announce(work)
            yield ToolStarted(
                name=work.call.name,
                query=work.call.query,
                call_id=work.call.id,
                arguments=work.call.arguments,
            )
        await self._carry_out([work for work in new if not work.message])
        for work in new:
            await self._conclude(work)
            yield ToolFinished(
                name=work.call.name,
                call_id=work.call.id,
                message=work.message,
                output=work.output,
                failure=work.failure,
                seconds=work.seconds,
            )
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
        if arguments is not None and requested.name in self._shown:
            arguments = kept(self._shown[requested.name], arguments)
        call = ToolCall(id=requested.id, name=requested.name, arguments=dict(arguments or {}))
        work = _Work(call, key=f"{requested.name} {json.dumps(arguments, sort_keys=True)}")
        if over:
            work.message, work.failure = TOO_MANY, "too_many"
        elif requested.name not in self.tools:
            work.message = UNKNOWN.format(names=", ".join(self.tools) or "none")
            work.failure = "unknown"
        elif arguments is None and requested.is_too_long:
            work.message, work.failure = TOO_LONG, "too_long"
        elif arguments is None:
            work.message, work.failure = NOT_JSON, "not_json"
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
        except ShuttingDown:
            raise
        except Exception as error:
            logger.error(
                "A receiver of tool_pre_execute failed, tool %r is not run: %s",
                work.call.name,
                trace(error),
            )
            logger.debug("A receiver of tool_pre_execute failed.", exc_info=True)
            work.message, work.failure = FAILED, f"tool_pre_execute: {type(error).__name__}"

    async def _carry_out(self, works: Sequence[_Work]) -> None:
        tasks = [asyncio.ensure_future(self._execute(work)) for work in works]
        try:
            if tasks:
                await asyncio.wait(tasks)
        finally:
            for task in tasks:
                task.cancel()  # no effect on those that ended
        # All are asked, so that none ends as an error nobody has heard of.
        for error in [task.exception() for task in tasks]:
            if error is not None:
                raise error

    async def _execute(self, work: _Work) -> None:
        """Run one tool in time and fill in its message and structured output."""
        self.used.add(work.call.name)
        row = self._row(work.call.name)
        arguments, work.message = applied(work.tool, row.arguments, work.call.arguments)
        if work.message:
            work.failure = "wrong_arguments"
            return
        began = time.perf_counter()
        try:
            async with asyncio.timeout(app_settings().TOOL_SECONDS):
                call = dataclasses.replace(work.call, arguments=arguments)
                work.message, work.output = await invoke(work.tool, call)
                if row.is_source:
                    await self._list(work, row)
        except TimeoutError:
            # A sync tool's thread cannot be stopped; what it still finds is thrown away.
            logger.warning("Tool %r took too long.", work.call.name)
            work.message, work.failure = TOO_SLOW, "too_slow"
        except ValidationError as error:
            work.message = wrong_arguments(self._shown[work.call.name], error)
            work.failure = "wrong_arguments"
        except ShuttingDown:
            raise
        except Exception as error:
            logger.error("Tool %r failed: %s", work.call.name, trace(error))
            logger.debug("Tool %r failed.", work.call.name, exc_info=True)
            work.message, work.failure = FAILED, type(error).__name__
        else:
            if work.tool.return_direct and not self.direct:
                # Whoever reads the answer gets all of it, up to ``MAX_ANSWER_CHARS``.
                self.direct = clean_text(work.message[: app_settings().MAX_ANSWER_CHARS + 1])
        finally:
            work.seconds = time.perf_counter() - began

    async def _list(self, work: _Work, row: AgentTool) -> None:
        """Find the objects that a source tool named, for this asker alone.

        A message that only repeats the rows goes: they may tell of what he may not see.
        """
        rows = work.message if work.output is None else work.output
        work.output = await search_burst(
            listed, rows, asker=self.context.asker, max_results=row.max_results
        )
        is_summary = work.tool.response_format == "content_and_artifact"
        is_text = isinstance(rows, str) and not work.output.hits
        if _is_json(work.message) or not (is_summary or is_text):
            work.message = ""

    def _fits(self, tool: BaseTool) -> bool:
        """Return whether what the site forces on ``tool`` can be forced.

        An argument that got another name since would be the model's to choose.
        """
        rules = self._row(tool.name).arguments
        found = problems(tool, rules) if rules else []
        if found:
            slug = self.context.agent.slug
            logger.error("Tool %r of agent %s cannot be used: %s", tool.name, slug, found[0])
        return not found

    def _row(self, name: str) -> AgentTool:
        """Return how the agent uses the tool ``name``."""
        return self._rows.get(name) or AgentTool(tool=name)

    async def _conclude(self, work: _Work) -> None:
        text = ToolMessageText(self._readable(work.message))
        try:
            await tool_finished.asend(
                self.context.agent,
                run_id=self.context.run_id,
                call=work.call,
                output=work.output,
                message=text,
            )
        except (AnswersError, ShuttingDown):
            raise
        except Exception as error:
            logger.error("A receiver of tool_finished failed: %s", trace(error))
            logger.debug("A receiver of tool_finished failed.", exc_info=True)
            raise RunFailed("A receiver of tool_finished failed.") from None
        work.message = self._answers[work.key] = self._readable(text.text)

    def _readable(self, text: str) -> str:
        """Return ``text`` as a model may get it: clean, and not too long."""
        tokens = tool_message_bound()
        # Cut first: cleaning megabytes would hold up the loop.
        text = cut(text, tokens=tokens, boundary=self.context.boundary)
        return clean_text(text)


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except ValueError:
        return False
