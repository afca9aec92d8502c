"""Dates of events, counted from today so that the programme is never over.

``saturday+1 10:30`` is half past ten on the second Saturday from tomorrow on; ``+0`` is the next
one. No database.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, tzinfo

from ..hours import DAYS

PATTERN = re.compile(r"(?P<day>[a-z]+)\+(?P<weeks>\d+) (?P<hour>\d\d):(?P<minute>\d\d)")


def on(when: str, *, today: date, zone: tzinfo) -> datetime:
    """The moment ``when`` names, seen from ``today``; always after today."""
    match = PATTERN.fullmatch(when)
    if match is None or match["day"] not in DAYS:
        raise ValueError(f"{when!r} is no date: write it as 'saturday+1 10:30'")
    tomorrow = today + timedelta(days=1)
    ahead = (DAYS.index(match["day"]) - tomorrow.weekday()) % 7 + 7 * int(match["weeks"])
    clock = time(int(match["hour"]), int(match["minute"]))
    return datetime.combine(tomorrow + timedelta(days=ahead), clock, tzinfo=zone)
