"""Opening hours as data: what is open right now.

In: ``content/hours.json``, minutes of the week in 24-hour times. Out: today's line per branch
for the home page. The page "Opening hours" says the same in words; a test keeps them together.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

from .models import Branch

FILE = Path(__file__).parent / "content" / "hours.json"
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True, slots=True, kw_only=True)
class Today:
    """One branch today."""

    branch: Branch
    page: str
    """Slug of the branch's page."""
    opens: str
    """``10:00``; empty when closed all day."""
    closes: str
    is_open: bool


@cache
def weekly() -> dict[str, dict]:
    """Per branch: ``page`` and a pair of times per day that it opens."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def today(now: datetime) -> list[Today]:
    """Today's hours of all branches at ``now``, a local time."""
    day, clock = DAYS[now.weekday()], now.strftime("%H:%M")
    lines = []
    for branch, entry in weekly().items():
        opens, closes = entry["days"].get(day, ("", ""))
        lines.append(
            Today(
                branch=Branch(branch),
                page=entry["page"],
                opens=opens,
                closes=closes,
                is_open=bool(opens) and opens <= clock < closes,
            )
        )
    return lines
