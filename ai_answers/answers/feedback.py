"""Feedback on a turn: one vote a person, changeable (S70–S74, D33–D38).

In: a vote on a finished turn. Out: the saved vote, a note of it in the run's log entry, and the
signal ``feedback_given``. A log entry that is gone takes nothing from the vote (D38).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.db import transaction

from ..exceptions import AgentNotUsable, NotFound, NotPermitted
from ..models import Feedback, RunLog, Turn
from ..permissions import may_ask
from ..rendering.sanitise import clean_text, clip_combining, drop_hidden
from ..signals import feedback_given
from .conversations import find_conversation, masked
from .tracing import Vote, score

TAG = "feedback:"
"""What the tags of votes begin with in a log entry (D36)."""
VOTES = uuid.UUID("6f0f0c5e-3a43-5d0c-9a60-5f4a1c1d7b52")
"""The namespace of the ids that votes go by outside."""
EXTRA = "ai_answers_feedback"
"""Where a vote stands in a log entry's extra data (S73)."""


def give_feedback(
    conversation_id: uuid.UUID,
    position: int,
    *,
    user: Any,
    visitor: str,
    rating: str,
    reasons: Sequence[str] = (),
    comment: str = "",
) -> Feedback:
    """Save the vote of ``visitor`` on the turn at ``position``; a second vote replaces the first.

    Raises ``NotFound`` for an unknown or foreign conversation or turn, ``NotPermitted`` when the
    agent does not answer ``user``, ``AgentNotUsable`` when it asks for no feedback.
    """
    turn = _turn(conversation_id, position, user)
    values = {
        "user_id": user.pk,
        "rating": rating,
        "reasons": list(reasons),
        "comment": masked(_readable(comment)),
    }
    with transaction.atomic():
        feedback, _created = Feedback.objects.update_or_create(
            turn=turn, visitor=visitor, defaults=values
        )
        _annotate(turn, feedback)
    feedback_given.send_robust(sender=Feedback, feedback=feedback)
    if turn.trace_id:
        score(_vote(feedback, turn.trace_id))
    return feedback


def _turn(conversation_id: uuid.UUID, position: int, user: Any) -> Turn:
    conversation = find_conversation(conversation_id, user)
    if not may_ask(user, conversation.agent):
        raise NotPermitted(f"The agent {conversation.agent.slug!r} does not answer this user.")
    if not conversation.agent.feedback_enabled:
        raise AgentNotUsable(f"The agent {conversation.agent.slug!r} asks for no feedback.")
    turn = conversation.turns.filter(position=position).exclude(outcome="").first()
    if turn is None:
        raise NotFound(f"The conversation has no finished turn {position!r}.")
    return turn


def _readable(comment: str) -> str:
    """Drop what those who read comments would not see, or would see elsewhere than it stands."""
    return clip_combining(drop_hidden(clean_text(comment))).strip()


def _vote(feedback: Feedback, trace_id: str) -> Vote:
    return Vote(
        # One for each person and turn, so that a changed vote changes the score (S74).
        id=uuid.uuid5(VOTES, f"{trace_id}:{feedback.pk}").hex,
        trace_id=trace_id,
        is_positive=feedback.rating == Feedback.Rating.POSITIVE,
        reasons=tuple(feedback.reasons),
        comment=feedback.comment,
        given_at=feedback.updated_at,
    )


def _annotate(turn: Turn, feedback: Feedback) -> None:
    """Note the vote in the log entry of the turn's run; of several the last is told (S72, S73)."""
    entries = RunLog.objects.select_for_update().filter(run__turn=turn)
    entry = entries.filter(pk=turn.log_id).first() if turn.log_id else None
    if entry is None:
        return
    others = [tag for tag in entry.tags if not tag.startswith(TAG)]
    entry.tags = [*others, f"{TAG}{feedback.rating}"]
    entry.extra = entry.extra | {
        EXTRA: {
            "rating": feedback.rating,
            "reasons": feedback.reasons,
            # An entry without texts holds nobody's words; the vote itself has them.
            "comment": feedback.comment if entry.has_text else "",
            "user": None if feedback.user_id is None else str(feedback.user_id),
            "given_at": feedback.updated_at.isoformat(),
        }
    }
    entry.save(update_fields=["tags", "extra"])
