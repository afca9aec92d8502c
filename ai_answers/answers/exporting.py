"""One person's conversations as plain data, to hand to that person.

In: who it is. Out: dicts of what he asked, was answered and voted, one a conversation. Nothing of
prompts, sources' texts or other people; references are shown as he may see them now (G10).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from ..models import Conversation, Feedback, Turn
from ..values import Asker
from .showing import references_now

SHOWN = ("index", "label", "url")


def exported(conversations: QuerySet[Conversation], asker: Asker) -> Iterator[dict[str, Any]]:
    """Yield ``{conversation_id, agent, created_at, expires_at, turns[]}``, oldest first.

    ``asker``: the person they are for. Times are ISO 8601, answers Markdown with ``[n]``.
    """
    related = conversations.select_related("agent").prefetch_related("turns__feedback")
    for conversation in related.order_by("created_at", "pk").iterator(chunk_size=100):
        mode = conversation.agent.reference_view_mode
        turns = sorted(conversation.turns.all(), key=lambda turn: turn.position)
        yield {
            "conversation_id": str(conversation.pk),
            "agent": conversation.agent.slug,
            "created_at": conversation.created_at.isoformat(),
            "expires_at": conversation.expires_at.isoformat(),
            "turns": [_turn(turn, asker, view_mode=mode) for turn in turns],
        }


def votes_elsewhere(user: Any) -> list[dict[str, Any]]:
    """Return the votes of ``user`` on conversations that are not his."""
    votes = Feedback.objects.filter(user=user).exclude(turn__conversation__owner=user)
    return [
        {
            "conversation_id": str(vote.turn.conversation_id),
            "turn": vote.turn.position,
            **_vote(vote),
        }
        for vote in votes.select_related("turn").order_by("created_at")
    ]


def _turn(turn: Turn, asker: Asker, *, view_mode: str) -> dict[str, Any]:
    references = references_now(turn.references, asker, view_mode=view_mode)
    return {
        "turn": turn.position,
        "question": turn.question,
        "answer": turn.answer,
        "outcome": turn.outcome,
        "references": [{name: row.get(name) for name in SHOWN} for row in references],
        "created_at": turn.created_at.isoformat(),
        "finished_at": turn.finished_at.isoformat() if turn.finished_at else None,
        # Whoever has the id of a conversation without an owner can vote in it.
        "feedback": [
            _vote(vote) for vote in turn.feedback.all() if vote.user_id in (None, asker.user.pk)
        ],
    }


def _vote(vote: Feedback) -> dict[str, Any]:
    return {
        "rating": vote.rating,
        "reasons": vote.reasons,
        "comment": vote.comment,
        "created_at": vote.created_at.isoformat(),
    }
