"""Names of months and weekdays in the languages of an answer and its sources.

In: language codes. Out: folded names with their numbers, as Django translates them. Sync, no I/O
beyond Django's catalogues, which are read once for each language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from django.utils import translation
from django.utils.dates import MONTHS, MONTHS_3, MONTHS_ALT, WEEKDAYS, WEEKDAYS_ABBR

from ...chat_models.terms import UNSPACED, plain_word

_UNSPACED = re.compile(f"[{UNSPACED}]")


class Calendar(NamedTuple):
    """Folded names, in lower case and without accents."""

    months: dict[str, int]
    weekdays: dict[str, int]
    short: dict[str, str]
    """Short names, which count beside a number only, with the key of what they mean."""
    unspaced: dict[str, str]
    """Names in scripts without spaces, found within longer text, with the same."""


def calendar_of(languages: Iterable[str]) -> Calendar:
    """Return the names in all of ``languages`` together; unknown codes add nothing."""
    months: dict[str, int] = {}
    weekdays: dict[str, int] = {}
    short: dict[str, str] = {}
    unspaced: dict[str, str] = {}
    for language in languages:
        names = _names(language)
        months |= names.months
        weekdays |= names.weekdays
        short |= names.short
        unspaced |= names.unspaced
    return Calendar(months, weekdays, short, unspaced)


@lru_cache(maxsize=64)
def _names(language: str) -> Calendar:
    if not translation.check_for_language(language):
        return Calendar({}, {}, {}, {})
    with translation.override(language):
        months = {
            _folded(name): number
            for names in (MONTHS, MONTHS_ALT)
            for number, name in names.items()
        }
        weekdays = {_folded(name): number for number, name in WEEKDAYS.items()}
        short = {_folded(name): f"month {number}" for number, name in MONTHS_3.items()}
        short |= {_folded(name): f"weekday {number}" for number, name in WEEKDAYS_ABBR.items()}
    whole = {name: f"month {number}" for name, number in months.items()}
    whole |= {name: f"weekday {number}" for name, number in weekdays.items()}
    unspaced = {name: key for name, key in whole.items() if _UNSPACED.match(name)}
    return Calendar(months, weekdays, {name: key for name, key in short.items() if name}, unspaced)


def _folded(name: object) -> str:
    return plain_word(str(name)).rstrip(".")
