"""Checks of ``TRACER``.

In: the setting. Out: E001 for keys it may not have, E002 for a backend that leads nowhere, E012 for
what is no dict, W016 for an empty key. No tracer is imported unless its module does not name it.
Test with ``override_settings`` and ``django.core.checks.run_checks``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.checks import CheckMessage, Error, Warning, register

from ..chat_models.aliases import empty_secrets
from .dotted_paths import is_installed, problem_with
from .settings import setting

KEYS = ("BACKEND", "OPTIONS")
PACKAGES = {
    "ai_answers.contrib.otel.": ("opentelemetry", "otel"),
    "ai_answers.contrib.langfuse.": ("opentelemetry.exporter.otlp.proto.http", "langfuse"),
}
"""Backend → the package it needs, and the extra that brings it."""


@register("ai_answers")
def check_tracer(app_configs, **kwargs) -> list[CheckMessage]:
    """E001, E002, E012, W016 of the tracer."""
    entry = setting("TRACER")
    return [] if entry is None else list(_problems(entry))


def _problems(entry: Any) -> Iterator[CheckMessage]:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("BACKEND"), str):
        yield Error(
            f"AI_ANSWERS['TRACER'] must be a dict with a 'BACKEND', or None, not {entry!r}.",
            hint="'BACKEND' is the dotted path of a class; 'OPTIONS' its arguments.",
            id="ai_answers.E012",
        )
        return
    for key in entry:
        if key not in KEYS:
            yield Error(
                f"AI_ANSWERS['TRACER'] has no key {key!r}; it may have: {', '.join(KEYS)}.",
                hint="docs/tracing.md shows an example.",
                id="ai_answers.E001",
            )
    backend = entry["BACKEND"]
    if problem := _missing_package(backend) or problem_with(backend):
        yield Error(
            f"AI_ANSWERS['TRACER'] names {backend!r}: {problem}",
            hint="Install or correct it.",
            id="ai_answers.E002",
        )
    options = entry.get("OPTIONS", {})
    if not isinstance(options, Mapping):
        yield Error(
            f"AI_ANSWERS['TRACER']['OPTIONS'] must be a dict of arguments, not {options!r}.",
            hint="docs/tracing.md lists them.",
            id="ai_answers.E012",
        )
        return
    for name in empty_secrets(options):
        yield Warning(
            f"AI_ANSWERS['TRACER']['OPTIONS'][{name!r}] is empty; nothing is traced so.",
            hint="Set the environment variable it is read from.",
            id="ai_answers.W016",
        )


def _missing_package(backend: str) -> str:
    for prefix, (package, extra) in PACKAGES.items():
        if backend.startswith(prefix) and not is_installed(package):
            return f"it needs pip install django-ai-answers[{extra}]."
    return ""
