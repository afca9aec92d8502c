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
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool

from ..bursts import ShuttingDown
from ..chat_models import aget_chat_model
from ..conf import app_settings
from ..events import Event, PromptSent, RoundFinished, RoundStarted, TextDelta
from ..exceptions import AnswersError, ConfigurationError, RunFailed, trace
from ..signals import agent_finished, agent_started, pre_system_prompt
from ..tools import get_tool, is_required
from ..values import Outcome
from .calls import Toolbox
from .context import AgentRunContext, current
from .limits import fit, output_bound, prompt_bound, schema_tokens
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
        outcome = "answered" if run.has_text else "no_answer"
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
        self.has_text = False
        self._last_text = ""
        self._reminded = False

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
        model, with_tools = await self._models()
        schemas = 0 if with_tools is model else schema_tokens(self.toolbox.offered)
        most_tokens = prompt_bound() + output_bound(self.context.agent)
        rounds = max(app_settings().MAX_ROUNDS, 1)
        for number in range(1, rounds + 1):
            last = number == rounds or self.toolbox.only_repeats
            step = ModelRound(number=number, most_tokens=most_tokens)
            chosen, fixed = (model, 0) if last else (with_tools, schemas)
            async with aclosing(self._round(step, chosen, fixed_tokens=fixed)) as events:
                async for event in events:
                    yield event
            if last or not (step.calls or self._remind(step)):
                return
            async with aclosing(self._tools(step)) as events:
                async for event in events:
                    yield event
            if self.toolbox.direct:
                yield self._delta(self._separator() + self.toolbox.direct)
                return

    async def _models(self) -> tuple[Any, Any]:
        """Return the chat model bare and with the agent's tools."""
        agent = self.context.agent
        model = await aget_chat_model(
            agent.chat_model,
            model_name=agent.model_name,
            temperature=agent.temperature,
            max_output_tokens=agent.max_output_tokens,
        )
        if not self.toolbox.tools:
            return model, model
        try:
            return model, model.bind_tools(self.toolbox.offered)
        except NotImplementedError:
            logger.warning("Chat model %r takes no tools.", agent.chat_model)
            return model, model

    async def _round(
        self, step: ModelRound, model: Any, *, fixed_tokens: int
    ) -> AsyncIterator[Event]:
        yield RoundStarted(number=step.number)
        prompt = await self._system_prompt(step.number)
        messages = fit(
            system=[SystemMessage(prompt)] if prompt else [],
            history=self.history,
            turn=self.messages,
            fixed_tokens=fixed_tokens,
            boundary=self.context.boundary,
        )
        yield PromptSent(messages=messages)
        separator = self._separator()
        try:
            async with aclosing(step.text(model, messages)) as pieces:
                async for piece in pieces:
                    yield self._delta(separator + piece)
                    separator = ""
        finally:
            self.context.usage += step.usage
        yield RoundFinished(usage=step.usage, finish_reason=step.finish_reason)

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
