"""Feedback on a turn: one vote a person, changeable (S70–S71, D33–D35)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.db import transaction

from ..exceptions import AgentNotUsable, NotFound, NotPermitted
from ..models import Feedback
from ..permissions import may_ask
from ..signals import feedback_given
from .conversations import find_conversation


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

    Raises ``NotFound`` for an unknown or foreign conversation or turn, ``AgentNotUsable`` when
    the agent asks for no feedback.
    """
    conversation = find_conversation(conversation_id, user)
    if not may_ask(user, conversation.agent):
        raise NotPermitted(f"The agent {conversation.agent.slug!r} does not answer this user.")
    if not conversation.agent.feedback_enabled:
        raise AgentNotUsable(f"The agent {conversation.agent.slug!r} asks for no feedback.")
    turn = conversation.turns.filter(position=position).exclude(outcome="").first()
    if turn is None:
        raise NotFound(f"The conversation has no finished turn {position!r}.")
    values = {
        "user_id": user.pk,
        "rating": rating,
        "reasons": list(reasons),
        "comment": comment.strip(),
    }
    with transaction.atomic():
        feedback, _created = Feedback.objects.update_or_create(
            turn=turn, visitor=visitor, defaults=values
        )
    feedback_given.send_robust(sender=Feedback, feedback=feedback)
    return feedback
