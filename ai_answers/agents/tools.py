"""The values the tool signals hand to receivers, who may change them. No Django, no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..sources.block import INVISIBLE, LINE_ENDS
from .text import clean_text

LONGEST_QUERY = 200


@dataclass(slots=True, kw_only=True)
class ToolCall:
    """A tool call the model asked for, or the forced first search."""

    id: str
    """Unique in its run."""
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    """What the model chose; ``tool_pre_execute`` may change it. What the site forces on a tool
    (index, amount, lowest score) is not in here (T7)."""

    @property
    def query(self) -> str:
        """What the call looks for, for a status line; empty when it has no query.

        One line of at most ``LONGEST_QUERY`` characters, all of them visible.
        """
        query = self.arguments.get("query", "")
        if not isinstance(query, str):
            return ""
        # Cut twice: invisible characters must not cost time, nor take the place of others.
        seen = INVISIBLE.sub("", LINE_ENDS.sub(" ", clean_text(query[: 10 * LONGEST_QUERY])))
        return " ".join(seen.split())[:LONGEST_QUERY].rstrip()


@dataclass(slots=True)
class ToolMessageText:
    """What the model will read as a tool's result; ``tool_finished`` may replace it."""

    text: str
