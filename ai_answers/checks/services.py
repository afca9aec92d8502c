"""Checks of what ``EMBEDDINGS`` and ``RERANKERS`` say besides which class to use.

In: their entries. Out: E012 for numbers of the wrong type or size; nothing is imported. Unknown
keys are E001, in ``settings``. Test with ``override_settings`` and
``django.core.checks.run_checks``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.checks import CheckMessage, Error, register

from .settings import alias_entries

COUNTS = ("BATCH", "BATCH_TOKENS", "TRIES")


@register("ai_answers")
def check_services(app_configs, **kwargs) -> list[CheckMessage]:
    """E012: sizes, tries and seconds of a service."""
    return [
        Error(
            f"AI_ANSWERS[{setting!r}][{alias!r}][{key!r}] must be {right}, not {value!r}.",
            hint="Leave it out to use the default; docs/retrieval.md lists them.",
            id="ai_answers.E012",
        )
        for setting in ("EMBEDDINGS", "RERANKERS")
        for alias, entry in alias_entries(setting).items()
        if isinstance(entry, Mapping)
        for key, right, value in _wrong(entry)
    ]


def _wrong(entry: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for key in COUNTS:
        value = entry.get(key, 1)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            yield key, "a whole number above 0", value
    value = entry.get("SECONDS", 1)
    if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
        yield "SECONDS", "a number of seconds above 0", value
    if not isinstance(value := entry.get("OPTIONS", {}), Mapping):
        yield "OPTIONS", "a dict of arguments", value
