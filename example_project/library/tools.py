"""A tool the agent may call besides the search: the programme between two days.

Its rows are sources: a question about dates is better answered from the calendar than from what
a search happens to find. Two events may have the same name; each row carries what tells them apart.
"""

from __future__ import annotations

from datetime import date, timedelta

from django.utils import timezone
from langchain_core.tools import tool

from .models import Branch, Event

MOST_DAYS = 92


@tool("events_between")
def events_between(first_day: str = "", days: int = 14, branch: str = "") -> list[Event]:
    """List the library's events by date. Use it for questions about what is on, and when.

    first_day: YYYY-MM-DD; empty for today. days: how many days from then on. branch: central,
    harbour, north-shore, mill-quarter or book-boat; empty for all.
    """
    try:
        start = date.fromisoformat(first_day) if first_day else timezone.localdate()
    except ValueError:
        raise ValueError(f"first_day must be like 2026-12-31, not {first_day!r}.") from None
    end = start + timedelta(days=max(1, min(days, MOST_DAYS)))
    events = Event.objects.upcoming().filter(starts_at__date__gte=start, starts_at__date__lt=end)
    if branch in Branch.values:
        events = events.filter(branch=branch)
    return list(events.order_by("starts_at"))
