"""Which chat model a round asks, and who is asked next when it fails before its first text.

In: an agent, and the error of each try. Out: the model to ask, and whether to ask again. One that
is busy or out of reach is asked again after a pause, ``TRIES`` times and within
``FIRST_CONTENT_SECONDS``; then its ``FALLBACK`` takes over, for the rest of the run. What was shown
is never begun anew: that is the caller's to keep. Test it with ``scripted``.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..chat_models import aget_chat_model
from ..chat_models.aliases import endpoint
from ..conf import alias_settings, app_settings
from ..events import ModelReplaced
from ..exceptions import AnswersError, ConfigurationError, RunFailed
from .calls import Toolbox
from .context import AgentRunContext
from .limits import schema_tokens

logger = logging.getLogger(__name__)

TRIES = 3
"""Times one model is asked in a round where its alias does not say."""
PAUSE_SECONDS = 0.5
"""Before the second try; doubled before each further one. A server may ask for another pause."""
PASSING = ("model_unreachable", "model_rate_limited", "model_overloaded")
"""Codes of what may have passed in a moment."""
FINAL = ("content_filter",)
"""Codes with which no other model is asked: a refusal is an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A chat model that a run may ask."""

    alias: str
    address: str
    """Of its endpoint, without anything secret; may be empty."""
    tries: int
    fallback: str
    """The alias to take its place; empty when there is none."""
    bare: Any
    with_tools: Any
    schema_tokens: int
    """What offering the tools costs in every round."""

    def __str__(self) -> str:
        return f"{self.alias!r}{f' at {self.address}' if self.address else ''}"


class Candidates:
    """The chat models of one run: the agent's own first."""

    def __init__(self, context: AgentRunContext, toolbox: Toolbox) -> None:
        self._context = context
        self._toolbox = toolbox
        self._current: Candidate | None = None
        self._asked: set[str] = set()
        self._news: list[ModelReplaced] = []
        self._tries = 0
        self._deadline = 0.0

    @property
    def current(self) -> Candidate:
        """The one to ask, once a round has begun."""
        return self._current

    @property
    def first_content_seconds(self) -> float:
        """Seconds that are left to it until its first content."""
        return max(self._deadline - self._now(), 0)

    @property
    def has_replacement(self) -> bool:
        """Whether another than the agent's own model is asked."""
        return self._current is not None and self._current.alias != self._context.agent.chat_model

    async def begin_round(self) -> None:
        """Let tries and time begin anew.

        Raises ``ConfigurationError`` when neither the agent's model nor a fallback can be built.
        """
        if self._current is None:
            alias = self._context.agent.chat_model
            try:
                self._current = await self._candidate(alias)
            except ConfigurationError as error:
                entry = alias_settings("CHAT_MODELS", alias)  # without one there is no fallback
                if not await self._replace(alias, entry.get("FALLBACK") or "", error):
                    raise
        self._begin()

    async def recover(self, error: RunFailed) -> bool:
        """Return whether to ask again after ``error``: the same model, after a pause, or another.

        Call it only while nothing of the round was shown.
        """
        if (pause := self._pause(error)) is not None:
            self._log(self.current, error, f"It is asked again in {pause:.1f} s")
            self._tries += 1
            await asyncio.sleep(pause)
            return True
        if error.code in FINAL or not await self._replace(
            self.current.alias, self.current.fallback, error
        ):
            return False
        self._begin()
        return True

    def news(self) -> Iterator[ModelReplaced]:
        """Give away what has happened since the last call."""
        while self._news:
            yield self._news.pop(0)

    def _begin(self) -> None:
        self._tries = 1
        self._deadline = self._now() + app_settings().FIRST_CONTENT_SECONDS

    def _pause(self, error: RunFailed) -> float | None:
        """Return the seconds to wait before another try; ``None``: it makes no sense."""
        if error.code not in PASSING or self._tries >= self.current.tries:
            return None
        pause = getattr(error, "retry_after", None)
        if pause is None:
            # Spread out, so that all that were refused together do not come back together.
            pause = PAUSE_SECONDS * 2 ** (self._tries - 1) * random.uniform(0.75, 1.25)  # noqa: S311
        return pause if pause < self.first_content_seconds else None

    async def _replace(self, alias: str, fallback: str, error: AnswersError) -> bool:
        """Let ``fallback`` stand in for ``alias``; returns whether it can."""
        self._asked.add(alias)
        if not fallback or fallback in self._asked:
            return False
        try:
            candidate = await self._candidate(fallback)
        except ConfigurationError as flaw:
            logger.error("The fallback of chat model %r cannot be used: %s", alias, flaw)
            return False
        self._log(self._current or repr(alias), error, f"It is replaced by {candidate}")
        self._current = candidate
        self._news.append(ModelReplaced(alias=alias, by=fallback, code=error.code))
        return True

    async def _candidate(self, alias: str) -> Candidate:
        agent = self._context.agent
        own = alias == agent.chat_model
        bare = await aget_chat_model(
            alias,
            # Name and temperature suit one vendor; what may be spent suits all.
            model_name=agent.model_name if own else "",
            temperature=agent.temperature if own else None,
            max_output_tokens=agent.max_output_tokens,
        )
        self._asked.add(alias)
        entry = alias_settings("CHAT_MODELS", alias)
        with_tools = self._with_tools(alias, bare)
        return Candidate(
            alias=alias,
            address=endpoint(entry),
            tries=entry.get("TRIES", TRIES),
            fallback=entry.get("FALLBACK") or "",
            bare=bare,
            with_tools=with_tools,
            schema_tokens=0 if with_tools is bare else schema_tokens(self._toolbox.offered),
        )

    def _with_tools(self, alias: str, model: Any) -> Any:
        if not self._toolbox.tools:
            return model
        try:
            return model.bind_tools(self._toolbox.offered)
        except NotImplementedError:
            logger.warning("Chat model %r takes no tools.", alias)
            return model

    def _log(self, model: object, error: AnswersError, then: str) -> None:
        run_id = self._context.run_id
        logger.warning("Run %s, chat model %s: %s %s.", run_id, model, error, then)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
