"""Run an agent: forced first search, then model calls and tools until there is an answer.

In: a run's context, history and question. Out: events in order: rounds, tools, text. Holds back
nothing. Ends after ``MAX_ROUNDS``, the last of them without tools. No prompt is longer than
``prompt_bound()``. The wall time of the whole run
(``RUN_SECONDS``) and its answer's length are the caller's to watch. Test it with
``ScriptedChatModel`` and ``running(context)``.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool

from ..bursts import ShuttingDown
from ..conf import app_settings
from ..events import Event, PromptSent, RoundFinished, RoundStarted, TextDelta
from ..exceptions import AnswersError, ConfigurationError, RunFailed, trace
from ..signals import agent_finished, agent_started, pre_system_prompt
from ..tools import get_tool, is_required
from ..values import Outcome
from .calls import Toolbox
from .candidates import Candidates
from .context import AgentRunContext, current
from .limits import fit, output_bound, prompt_bound
from .prompts import SystemPrompt
from .requested import RequestedCall
from .rounds import ModelRound
from .search import SEARCH_TOOL_NAME, make_search_tool, resolve_search

logger = logging.getLogger(__name__)

REMINDER = "Before you answer, use: {names}."


async def run_agent(
    context: AgentRunContext,
    *,
    history: Sequence[BaseMessage],
    question: str,
    force_search: bool,
) -> AsyncIterator[Event]:
    """Answer ``question`` after ``history`` (user and assistant messages, oldest first).

    Read it to its end, or ``aclose()`` it, inside ``running(context)``. ``force_search`` makes
    one search for the question before any model call (S27, D41). Without any source, an agent
    that is ``strict`` then makes none.
    Raises ``ModelFailed``, ``ModelTimeout`` or ``RunFailed``; ``CancelledError`` passes through
    and closes the model's stream on its way.
    """
    if current.get() is not context:
        raise RuntimeError("run_agent() must be read inside `with running(context):`.")
    run = _Run(context, history, question)
    outcome: Outcome = "stopped"
    await agent_started.asend(context.agent, run_id=context.run_id, asker=context.asker)
    try:
        async with aclosing(run.events(force_search=force_search)) as events:
            async for event in events:
                yield event
        outcome = run.outcome
    except Exception:
        outcome = "failed"
        raise
    finally:
        await agent_finished.asend(
            context.agent, run_id=context.run_id, usage=context.usage, outcome=outcome
        )


def agent_tools(context: AgentRunContext) -> list[BaseTool]:
    """Return the tools of the context's agent in their order, the search bound to its asker."""
    tools: list[BaseTool] = []
    search = resolve_search(context.agent)
    for row in context.agent.tools.all():
        if row == search:
            tools.append(make_search_tool(row, context))
        elif row.tool != SEARCH_TOOL_NAME and (tool := _registered(row.tool)) is not None:
            tools.append(tool)
        else:
            logger.warning("Tool %r of agent %s cannot be used.", row.tool, context.agent.slug)
    return tools


def _registered(name: str) -> BaseTool | None:
    try:
        return get_tool(name)
    except ConfigurationError as error:
        logger.error("%s", error)
        return None


class _Run:
    """The state of one run's rounds."""

    def __init__(
        self, context: AgentRunContext, history: Sequence[BaseMessage], question: str
    ) -> None:
        self.context = context
        self.question = question
        self.history = history
        self.messages: list[BaseMessage] = [HumanMessage(question)]
        """The question and what followed."""
        self.toolbox = Toolbox(context, agent_tools(context))
        self.candidates = Candidates(context, self.toolbox)
        self.has_text = False
        self._most_tokens = prompt_bound() + output_bound(context.agent)
        self._step: ModelRound | None = None
        self._last_text = ""
        self._reminded = False

    @property
    def outcome(self) -> Outcome:
        if not self.has_text:
            return "no_answer"
        return "fallback" if self.candidates.has_replacement else "answered"

    async def events(self, *, force_search: bool) -> AsyncIterator[Event]:
        if force_search and SEARCH_TOOL_NAME in self.toolbox.tools:
            forced = RequestedCall(
                id="forced_search", name=SEARCH_TOOL_NAME, arguments={"query": self.question}
            )
            async with aclosing(self.toolbox.run([forced])) as events:
                async for event in events:
                    yield event
        if self.context.agent.strict and not self.context.sources_block():
            return  # there is nothing that a model could answer from
        rounds = max(app_settings().MAX_ROUNDS, 1)
        for number in range(1, rounds + 1):
            last = number == rounds or self.toolbox.only_repeats
            async with aclosing(self._round(number, with_tools=not last)) as events:
                async for event in events:
                    yield event
            step = self._step
            if last or not (step.calls or self._remind(step)):
                return
            async with aclosing(self._tools(step)) as events:
                async for event in events:
                    yield event
            if self.toolbox.direct:
                yield self._delta(self._separator() + self.toolbox.direct)
                return

    async def _round(self, number: int, *, with_tools: bool) -> AsyncIterator[Event]:
        """Ask until a model begins to write; ``_step`` is the try that did."""
        yield RoundStarted(number=number)
        prompt = await self._system_prompt(number)
        candidates = self.candidates
        await candidates.begin_round()
        while True:
            for event in candidates.news():
                yield event
            model = candidates.current
            messages = fit(
                system=[SystemMessage(prompt)] if prompt else [],
                history=self.history,
                turn=self.messages,
                fixed_tokens=model.schema_tokens if with_tools else 0,
                boundary=self.context.boundary,
            )
            if self._step is None or self._step.number != number:
                yield PromptSent(messages=messages)
            separator = self._separator()
            step = self._step = ModelRound(number=number, most_tokens=self._most_tokens)
            stream = step.text(
                model.with_tools if with_tools else model.bare,
                messages,
                first_content_seconds=candidates.first_content_seconds,
            )
            try:
                async with aclosing(stream) as pieces:
                    async for piece in pieces:
                        yield self._delta(separator + piece)
                        separator = ""
                break
            except RunFailed as error:
                if step.has_text or not await candidates.recover(error):
                    raise
            finally:
                self.context.usage += step.usage
        yield RoundFinished(usage=step.usage, finish_reason=step.finish_reason, is_cut=step.is_cut)

    async def _tools(self, step: ModelRound) -> AsyncIterator[Event]:
        if not step.calls:
            return
        async with aclosing(self.toolbox.run(step.calls)) as events:
            async for event in events:
                yield event
        self.messages += [step.message(), *self.toolbox.messages]

    async def _system_prompt(self, number: int) -> str:
        prompt = SystemPrompt(self.context.agent.instructions)
        try:
            await pre_system_prompt.asend(
                self.context.agent, run_id=self.context.run_id, round=number, prompt=prompt
            )
        except (AnswersError, ShuttingDown):
            raise
        except Exception as error:
            logger.error("A receiver of pre_system_prompt failed: %s", trace(error))
            logger.debug("A receiver of pre_system_prompt failed.", exc_info=True)
            raise RunFailed("A receiver of pre_system_prompt failed.") from None
        return prompt.text

    def _remind(self, step: ModelRound) -> bool:
        """Remind the model once of required tools it left out (T18); whether it was needed."""
        left_out = [n for n in self.toolbox.tools if is_required(n) and n not in self.toolbox.used]
        if not left_out or self._reminded:
            return False
        self._reminded = True
        reminder = HumanMessage(REMINDER.format(names=", ".join(left_out)))
        self.messages += [step.message(), reminder]
        return True

    def _separator(self) -> str:
        """Return what has to stand between text of two rounds, so that they do not run together."""
        return "\n\n" if self.has_text and not self._last_text.endswith("\n") else ""

    def _delta(self, text: str) -> TextDelta:
        self.has_text = True
        self._last_text = text
        return TextDelta(text)
