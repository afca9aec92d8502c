"""What a run needs from the database, read in one burst before the first model call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.utils.translation import gettext as _
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from ..conf import app_settings
from ..models import Agent, Turn
from ..sources.access import viewable
from ..tokens import count_tokens
from ..values import Asker, Source
from .citations import plain_text
from .conversations import RunSpec
from .sourcing import TurnSources, from_json
from .tracing import prepare_tracer
from .turns import earlier_turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The plain objects one run works with; nothing in it queries later."""

    agent: Agent
    asker: Asker
    question: str
    history: tuple[BaseMessage, ...]
    sources: TurnSources
    no_answer_message: str

    @property
    def must_search(self) -> bool:
        """Whether to search before the model is asked: at first (S27), or with nothing held."""
        return not self.history or (self.agent.strict and not self.sources.all)


def prepare(spec: RunSpec) -> Prepared:
    """Load agent, asker, history and held sources. Sync; call it as a burst."""
    conf = app_settings()
    prepare_tracer()
    turn = Turn.objects.select_related("conversation").get(pk=spec.turn_id)
    agent = Agent.objects.prefetch_related("tools").get(pk=turn.conversation.agent_id)
    asker = Asker(
        user=_user(spec.user_id), language=spec.language, scope=spec.scope, page=spec.page
    )
    budget = conf.PROMPT_TOKENS - count_tokens(turn.question)
    turns = earlier_turns(turn, limit=agent.max_history_turns)
    # Half of the prompt is kept for sources, so a long talk cannot push them out.
    history, spent = _history(turns, max_tokens=budget // 2)
    sources = TurnSources(
        max_sources=conf.MAX_SOURCES,
        max_references=agent.max_references,
        max_tokens=budget - spent,
    )
    if history:
        sources.hold(_held_sources(turn, asker))
    return Prepared(
        agent=agent,
        asker=asker,
        question=turn.question,
        history=tuple(history),
        sources=sources,
        no_answer_message=agent.no_answer_message or _("I found nothing about this on our pages."),
    )


def _user(user_id: Any) -> Any:
    if user_id is None:
        return AnonymousUser()
    users = get_user_model()._default_manager
    return users.filter(pk=user_id, is_active=True).first() or AnonymousUser()


def _history(turns: Sequence[Turn], *, max_tokens: int) -> tuple[list[BaseMessage], int]:
    """Return the newest turns that fit, oldest first, as messages without markers (D40, G07)."""
    kept: list[BaseMessage] = []
    spent = 0
    for turn in reversed(turns):
        answer = plain_text(turn.answer).strip()
        if not answer:
            continue
        tokens = count_tokens(turn.question) + count_tokens(answer)
        if spent + tokens > max_tokens:
            break
        spent += tokens
        kept[:0] = [HumanMessage(turn.question), AIMessage(answer)]
    return kept, spent


def _held_sources(turn: Turn, asker: Asker) -> list[Source]:
    """Return the last turn's sources that ``asker`` may still see."""
    stored = (
        Turn.objects.filter(conversation_id=turn.conversation_id, position__lt=turn.position)
        .exclude(sources=[])
        .order_by("-position")
        .values_list("sources", flat=True)
        .first()
    )
    sources = from_json(stored or [])
    allowed = viewable([source.key for source in sources], asker)
    return [source for source in sources if source.key in allowed]
