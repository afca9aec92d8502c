"""A conversation as it is shown again after a reload.

References are rendered anew: an object that was deleted, moved or made private in between keeps
its number and says nothing more (G10).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..answers.pipeline import link_policy
from ..answers.sourcing import from_json
from ..models import Conversation, Run, Turn
from ..rendering import render
from ..rendering.references import render_references
from ..values import Asker


def conversation_data(
    conversation: Conversation, asker: Asker, *, visitor: str, origin: str
) -> dict[str, Any]:
    """Return ``{conversation_id, agent, turns[], run}``; ``run`` is the one still going on."""
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
    votes = [vote.rating for vote in turn.feedback.all() if vote.visitor == visitor]
    return {
        "turn": turn.position,
        "question": turn.question,
        "text": turn.answer,
        "html": answer_html(turn, origin=origin),
        "references": references_now(turn, asker, view_mode=conversation.agent.reference_view_mode),
        "outcome": turn.outcome,
        "feedback": votes[0] if votes else None,
    }


def answer_html(turn: Turn, *, origin: str) -> str:
    """Render a stored answer."""
    return render(turn.answer, links=link_policy(origin), reference_count=len(turn.references))


def references_now(turn: Turn, asker: Asker, *, view_mode: str) -> list[dict[str, Any]]:
    """Return the turn's references as ``asker`` may see them now."""
    numbers = {f"{r['entity_type']}:{r['entity_id']}": r["index"] for r in turn.references}
    sources = [source for source in from_json(turn.sources) if str(source.key) in numbers]
    rendered = render_references(sources, asker=asker, view_mode=view_mode, keep_unavailable=True)
    shown = [replace(r, index=numbers[f"{r.entity_type}:{r.entity_id}"]) for r in rendered]
    return [reference.as_dict() for reference in sorted(shown, key=lambda r: r.index)]
