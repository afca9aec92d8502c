"""Conversations: who may continue one, and opening the next turn of it.

In: a validated question and who asks. Out: a ``RunSpec``, with conversation, turn, run and
budget reserved in one transaction; or an ``AnswersError`` and nothing written.
"""

from __future__ import annotations

import datetime
import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError
from django.db.models import Max
from django.utils import timezone

from ..agents.search import resolve_search
from ..conf import setting_callable
from ..exceptions import (
    AgentNotUsable,
    InvalidQuestion,
    NotFound,
    NotPermitted,
    TurnInProgress,
)
from ..models import Agent, Conversation, Run, Turn
from ..permissions import may_ask
from ..rendering.sanitise import is_blank
from ..values import AnswerFormat, Asker
from . import budgets
from .queueing import turn_transaction
from .turns import interrupt_stale_runs

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One validated request to answer something."""

    text: str
    agent: str = ""
    """Slug; ignored in a follow-up, whose conversation has its agent (S15)."""
    conversation_id: uuid.UUID | None = None
    format: AnswerFormat = "markdown"
    request_id: str | None = None
    streamed: bool = True
    """Whether text reaches the asker while it is written (S31, S33)."""
    origin: str = ""
    """Scheme and host of the request, for the link policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """All that crosses into a run: ids and plain values, never the request."""

    run_id: uuid.UUID
    turn_id: int
    conversation_id: uuid.UUID
    position: int
    user_id: Any
    language: str
    scope: Any
    page: str
    origin: str
    """Scheme and host the site was asked on, such as ``https://example.org``; may be empty."""
    format: AnswerFormat
    streamed: bool
    reserved: Mapping[str, Any] = field(default_factory=dict)
    """What ``budgets.reserve`` took; to settle even if the run's row is deleted."""
    is_new: bool = True
    """False when the same request had started this run before."""


def find_agent(slug: str) -> Agent:
    """Return the agent; ``NotFound`` (404) when there is none of that slug."""
    try:
        return Agent.objects.get(slug=slug)
    except Agent.DoesNotExist:
        raise NotFound(f"There is no agent with the slug {slug!r}.") from None


def agent_for(user: Any, slug: str) -> Agent:
    """Return the agent if it can answer ``user``.

    One that does not answer him is as unknown to him as one that there is not: ``NotFound`` (404)
    for both, or anybody could find out which private agents a site has. Raises
    ``AgentNotUsable`` (409) as ``check_agent`` does.
    """
    agent = find_agent(slug)
    try:
        check_agent(agent, user)
    except NotPermitted as error:
        raise NotFound(str(error)) from None
    return agent


def check_agent(agent: Agent, user: Any) -> None:
    """Raise unless ``user`` may ask ``agent`` (403) and it can answer (409; S16, S17, S19)."""
    if not may_ask(user, agent):
        raise NotPermitted(f"The agent {agent.slug!r} does not answer this user.")
    if not agent.enabled:
        raise AgentNotUsable(f"The agent {agent.slug!r} is switched off.")
    if resolve_search(agent) is None:
        raise AgentNotUsable(
            f"The agent {agent.slug!r} has no search tool with an index; add one in the admin."
        )


def find_conversation(conversation_id: uuid.UUID, user: Any) -> Conversation:
    """Return the conversation if ``user`` may see it (S20–S23).

    One without an owner belongs to whoever holds its id. Unknown and foreign raise the same
    ``NotFound``.
    """
    conversation = Conversation.objects.select_related("agent").filter(pk=conversation_id).first()
    if conversation is None or conversation.owner_id not in (None, user.pk):
        raise NotFound("There is no such conversation, or it is someone else's.")
    return conversation


def find_run(run_id: uuid.UUID, user: Any) -> Run:
    """Return the run if ``user`` may see its conversation; the same rule and error."""
    run = Run.objects.select_related("turn").filter(pk=run_id).first()
    if run is None:
        raise NotFound("There is no such run, or it is someone else's.")
    find_conversation(run.turn.conversation_id, user)
    return run


def open_turn(question: Question, asker: Asker, *, visitor: str, payer: str) -> RunSpec:
    """Check every gate and open a turn with its run, in one transaction.

    ``visitor``: hashed identity for ``request_id``; ``payer``: hashed identity for budgets.
    """
    if is_blank(question.text):
        raise InvalidQuestion("The question is empty.")  # S13
    if earlier := _same_request(question, asker, visitor):
        return earlier
    if question.conversation_id is not None:
        interrupt_stale_runs(question.conversation_id)
    try:
        with turn_transaction():
            return _open(question, asker, visitor=visitor, payer=payer)
    except IntegrityError:
        # Another tab took the same place, or the same request came twice at once.
        if earlier := _same_request(question, asker, visitor):
            return earlier
        raise TurnInProgress("Another question of this conversation is being answered.") from None


def _open(question: Question, asker: Asker, *, visitor: str, payer: str) -> RunSpec:
    now = timezone.now()
    if question.conversation_id is None:
        agent = agent_for(asker.user, question.agent)
        conversation = Conversation(agent=agent, owner_id=asker.user.pk)
    else:
        conversation = find_conversation(question.conversation_id, asker.user)
        if conversation.expires_at <= now:
            raise NotFound("The conversation has expired.")
        agent = conversation.agent
        check_agent(agent, asker.user)
        # From here on it may hold what only this user may see, so it is no longer anyone's who
        # has the id.
        conversation.owner_id = conversation.owner_id or asker.user.pk
    conversation.expires_at = now + datetime.timedelta(seconds=agent.conversation_ttl)  # D45
    _save(conversation)
    position = _next_position(conversation)
    turn = Turn.objects.create(
        conversation=conversation, position=position, question=masked(question.text)
    )
    run = Run.objects.create(
        turn=turn,
        format=question.format,
        language=asker.language,
        visitor=visitor,
        request_id=question.request_id or None,
        reserved=budgets.reserve(agent, payer=payer),
        heartbeat_at=now,
    )
    return _spec(run, turn, asker, question)


def _save(conversation: Conversation) -> None:
    """Write the row anew or again; one erased in between stays erased.

    The other tabs of the conversation wait here until this turn is open: on PostgreSQL they would
    else find none running, and then a place behind it.
    """
    if conversation._state.adding:
        conversation.save()
        return
    fields = {"owner_id": conversation.owner_id, "expires_at": conversation.expires_at}
    if not Conversation.objects.filter(pk=conversation.pk).update(**fields):
        raise NotFound("The conversation was erased just now.")


def _next_position(conversation: Conversation) -> int:
    if Run.objects.filter(turn__conversation=conversation, status=Run.Status.RUNNING).exists():
        raise TurnInProgress("The last question of this conversation is being answered.")
    return (conversation.turns.aggregate(last=Max("position"))["last"] or 0) + 1


def _same_request(question: Question, asker: Asker, visitor: str) -> RunSpec | None:
    if not question.request_id:
        return None
    run = (
        Run.objects.select_related("turn")
        .filter(visitor=visitor, request_id=question.request_id)
        .first()
    )
    if run is None:
        return None
    turn = run.turn
    conversation = find_conversation(turn.conversation_id, asker.user)
    if not may_ask(asker.user, conversation.agent):
        raise NotPermitted(f"The agent {conversation.agent.slug!r} does not answer this user.")
    same_conversation = question.conversation_id in (None, turn.conversation_id)
    if turn.question != masked(question.text) or not same_conversation:
        raise InvalidQuestion("This request_id was used for another question; make a new one.")
    return _spec(run, turn, asker, question, is_new=False)


def masked(text: str) -> str:
    mask = setting_callable("MASK")
    return mask(text) if mask else text


def _spec(
    run: Run, turn: Turn, asker: Asker, question: Question, *, is_new: bool = True
) -> RunSpec:
    return RunSpec(
        run_id=run.pk,
        turn_id=turn.pk,
        conversation_id=turn.conversation_id,
        position=turn.position,
        user_id=asker.user.pk,
        language=run.language,
        scope=asker.scope,
        page=asker.page,
        origin=question.origin,
        format=run.format,
        streamed=question.streamed,
        reserved=run.reserved,
        is_new=is_new,
    )
