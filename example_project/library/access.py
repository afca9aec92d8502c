"""Who may read what: the one place that pages, views and sources ask.

``tags_for`` is the site's ``AI_ANSWERS["USER_ACCESS_TAGS"]``: the search drops what bears none of
these tags before it ranks, and ``can_view`` of each source has the last word.
"""

from __future__ import annotations

from typing import Any

MEMBERS = "members"
"""The group of crew members, and the access tag of their pages."""
STAFF = "staff"


def is_staff(user: Any) -> bool:
    return bool(user.is_active and user.is_staff)


def is_member(user: Any) -> bool:
    """Whether the user has a crew membership; staff look after the crew and count as members."""
    if not user.is_authenticated or not user.is_active:
        return False
    return is_staff(user) or user.groups.filter(name=MEMBERS).exists()


def tags_for(asker: Any) -> set[str]:
    """Access tags of whoever asks; ``asker`` is ``ai_answers.values.Asker``."""
    held = {MEMBERS: is_member, STAFF: is_staff}
    return {tag for tag, holds in held.items() if holds(asker.user)}
