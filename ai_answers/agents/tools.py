"""The values the tool signals hand to receivers, who may change them. No Django, no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


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
        """What the call looks for, for a status line; empty when it has no query."""
        query = self.arguments.get("query", "")
        return query if isinstance(query, str) else ""


@dataclass(slots=True)
class ToolMessageText:
    """What the model will read as a tool's result; ``tool_finished`` may replace it."""

    text: str
