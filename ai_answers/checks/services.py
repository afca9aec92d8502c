"""Checks of what ``CHAT_MODELS``, ``EMBEDDINGS`` and ``RERANKERS`` say besides which class to use.

In: their entries. Out: E012 for numbers of the wrong type or size, E002 for a ``FALLBACK`` that
leads nowhere or back; nothing is imported. Unknown keys are E001, in ``settings``. Test with
``override_settings`` and ``django.core.checks.run_checks``.
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
            hint="Leave it out to use the default; docs/chat-models.md and docs/retrieval.md list "
            "them.",
            id="ai_answers.E012",
        )
        for setting in ("CHAT_MODELS", "EMBEDDINGS", "RERANKERS")
        for alias, entry in alias_entries(setting).items()
        if isinstance(entry, Mapping)
        for key, right, value in _wrong(setting, entry)
    ]


@register("ai_answers")
def check_fallbacks(app_configs, **kwargs) -> list[CheckMessage]:
    """E002: a chat model that names no other to stand in for it."""
    models = alias_entries("CHAT_MODELS")
    return [
        Error(
            f"AI_ANSWERS['CHAT_MODELS'][{alias!r}] has the FALLBACK {fallback!r}, {problem}",
            hint=f"There are: {', '.join(map(repr, models))}; None is for no fallback.",
            id="ai_answers.E002",
        )
        for alias, entry in models.items()
        if (fallback := _fallback(entry)) is not None
        and (problem := _problem_with_fallback(models, alias))
    ]


def _problem_with_fallback(models: Mapping[str, Any], alias: str) -> str:
    asked, fallback = [alias], _fallback(models[alias])
    while fallback is not None:
        if not isinstance(fallback, str) or fallback not in models:
            # Of a chain only the last link is wrong, and that is reported for itself.
            return "which is no alias." if len(asked) == 1 else ""
        if fallback in asked:
            return "which leads back to it." if fallback == alias else ""
        asked.append(fallback)
        fallback = _fallback(models[fallback])
    return ""


def _fallback(entry: Any) -> Any:
    return entry.get("FALLBACK") if isinstance(entry, Mapping) else None


def _wrong(setting: str, entry: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for key in COUNTS:
        value = entry.get(key, 1)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            yield key, "a whole number above 0", value
    value = entry.get("SECONDS", 1)
    if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
        yield "SECONDS", "a number of seconds above 0", value
    value = entry.get("OPTIONS", {})
    # A chat model without any may say ``None``.
    if not isinstance(value, Mapping) and (setting != "CHAT_MODELS" or value is not None):
        yield "OPTIONS", "a dict of arguments", value
