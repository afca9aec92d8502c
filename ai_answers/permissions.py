"""Who may ask an agent, and who may see traces (D19, D21, design decision: deny by default)."""

from __future__ import annotations

from typing import Any

from .models import Agent

USE = "ai_answers.use_ai_answers"
TRACES = "ai_answers.view_ai_answers_traces"


def may_ask(user: Any, agent: Agent) -> bool:
    """Return whether ``user`` may ask ``agent``: the rule of its ``access`` field.

    ``public`` asks for nothing. The others ask for a signed-in user with the permission
    ``ai_answers.use_ai_answers``, which Django never grants to ``AnonymousUser``; ``groups``
    asks for one of the agent's groups on top (superusers are in all of them).
    """
    if agent.access == Agent.Access.PUBLIC:
        return True
    if not user.is_authenticated or not has_perm(user, USE):
        return False
    if agent.access == Agent.Access.AUTHENTICATED or getattr(user, "is_superuser", False):
        return True
    if not hasattr(user, "groups"):
        return False
    return agent.groups.filter(pk__in=user.groups.values("pk")).exists()


def may_see_traces(user: Any) -> bool:
    """Return whether responses to ``user`` carry ``log_id`` and ``trace_id``."""
    return has_perm(user, TRACES)


def has_perm(user: Any, permission: str) -> bool:
    """Return whether ``user`` has it; a user model without permissions grants none."""
    return hasattr(user, "has_perm") and user.has_perm(permission)
