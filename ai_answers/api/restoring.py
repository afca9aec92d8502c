"""A conversation as it is shown again after a reload."""

from __future__ import annotations

from typing import Any

from ..answers.showing import answer_html, references_now, support_now
from ..answers.turns import interrupt_stale_runs
from ..models import Conversation, Run, Turn
from ..values import Asker


def conversation_data(
    conversation: Conversation, asker: Asker, *, visitor: str, origin: str
) -> dict[str, Any]:
    """Return ``{conversation_id, agent, turns[], run}``; ``run`` is the one still going on."""
    interrupt_stale_runs(conversation.pk)
    turns = list(conversation.turns.order_by("position").prefetch_related("feedback"))
    running = Run.objects.filter(turn__in=turns, status=Run.Status.RUNNING).first()
    return {
        "conversation_id": str(conversation.pk),
        "agent": conversation.agent.slug,
        "turns": [
            turn_data(turn, asker, conversation=conversation, visitor=visitor, origin=origin)
            for turn in turns
        ],
        "run": {"run": str(running.pk), "format": running.format} if running else None,
    }


def turn_data(
    turn: Turn, asker: Asker, *, conversation: Conversation, visitor: str, origin: str
) -> dict[str, Any]:
    """Return one turn with its answer as safe HTML."""
    view_mode = conversation.agent.reference_view_mode
    support = support_now(turn, asker, view_mode=view_mode)
    votes = [vote.rating for vote in turn.feedback.all() if vote.visitor == visitor]
    return {
        "turn": turn.position,
        "question": turn.question,
        "text": turn.answer,
        "html": answer_html(turn, support, origin=origin),
        "references": references_now(turn.references, asker, view_mode=view_mode),
        "outcome": turn.outcome,
        "support": support,
        "feedback": votes[0] if votes else None,
    }
