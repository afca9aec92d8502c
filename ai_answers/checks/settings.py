"""Checks of the ``AI_ANSWERS`` dict itself.

In: ``settings.AI_ANSWERS``. Out: E001 for keys that do not exist, E002 for aliases and dotted
paths that lead nowhere, E012 for values of the wrong type or size, W016 for keys of vendors that
are empty. The later ones are silent about keys that E001 or E012 already named.
Test with ``override_settings`` and ``django.core.checks.run_checks``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from ..chat_models.aliases import empty_secrets
from ..conf import Settings, unknown_keys
from .dotted_paths import problem_with, problem_with_callable

ALIASES = {
    "CHAT_MODELS": {"BACKEND", "OPTIONS", "TRIES", "FALLBACK"},
    "EMBEDDINGS": {"BACKEND", "OPTIONS", "BATCH", "BATCH_TOKENS", "TRIES", "SECONDS"},
    "RERANKERS": {"BACKEND", "OPTIONS", "SECONDS"},
    "INDEXES": {
        "BACKEND",
        "OPTIONS",
        "EMBEDDING",
        "RERANKER",
        "CHUNK_TOKENS",
        "CHUNK_OVERLAP",
        "SOURCES",
    },
}
"""Setting of aliases → keys an entry of it may have."""

VENDORS = ("CHAT_MODELS", "EMBEDDINGS", "RERANKERS")
CALLABLES = ("SCOPE", "USER_ACCESS_TAGS", "ENTAILMENT", "MASK")
POSITIVE = (
    "MAX_QUESTION_CHARS",
    "MAX_BODY_BYTES",
    "MAX_ROUNDS",
    "MAX_TOOL_CALLS",
    "MAX_SOURCES",
    "MAX_ANSWER_CHARS",
    "PROMPT_TOKENS",
)
SECONDS = (
    "FIRST_CONTENT_SECONDS",
    "IDLE_CONTENT_SECONDS",
    "RUN_SECONDS",
    "TOOL_SECONDS",
    "HEARTBEAT_SECONDS",
)
THROTTLES = ("burst", "sustained", "feedback", "search")
BUDGETS = ("site", "agent", "visitor")
SPENT = ("questions", "tokens")
PRICED = ("input", "output")


def given_settings() -> Mapping[str, Any]:
    """Return ``AI_ANSWERS`` as the project wrote it, or an empty dict when it is no dict."""
    given = getattr(settings, "AI_ANSWERS", {})
    return given if isinstance(given, Mapping) else {}


def setting(name: str) -> Any:
    """Return a setting as given or its default, without looking at the other keys."""
    return given_settings().get(name, getattr(Settings(), name))


def alias_entries(name: str) -> Mapping[str, Any]:
    """Return the aliases of ``name``, or an empty dict when it has the wrong type (E012)."""
    value = setting(name)
    return value if isinstance(value, Mapping) else {}


@register("ai_answers")
def check_keys(app_configs, **kwargs) -> list[CheckMessage]:
    """E001: a key that does not exist, at the top or inside an entry."""
    if not isinstance(getattr(settings, "AI_ANSWERS", {}), Mapping):
        return [
            Error(
                f"AI_ANSWERS must be a dict, not {settings.AI_ANSWERS!r}.",
                hint="Leave it out to use the defaults.",
                id="ai_answers.E001",
            )
        ]
    messages = [*unknown_keys(given_settings()), *_unknown_inner_keys()]
    return [
        Error(message, hint="docs/settings.md lists all keys.", id="ai_answers.E001")
        for message in messages
    ]


def _unknown_inner_keys() -> Iterator[str]:
    for name, known in ALIASES.items():
        for alias, entry in alias_entries(name).items():
            yield from _unknown(f"AI_ANSWERS[{name!r}][{alias!r}]", entry, sorted(known))
    yield from _unknown("AI_ANSWERS['THROTTLE']", setting("THROTTLE"), THROTTLES)
    budgets = setting("BUDGETS")
    yield from _unknown("AI_ANSWERS['BUDGETS']", budgets, BUDGETS)
    for name, entry in budgets.items() if isinstance(budgets, Mapping) else ():
        yield from _unknown(f"AI_ANSWERS['BUDGETS'][{name!r}]", entry, SPENT)
    for name, entry in alias_entries("PRICES").items():
        yield from _unknown(f"AI_ANSWERS['PRICES'][{name!r}]", entry, PRICED)


def _unknown(where: str, entry: Any, known) -> Iterator[str]:
    if isinstance(entry, Mapping):
        for key in entry:
            if key not in known:
                yield f"{where} has no key {key!r}; it may have: {', '.join(known)}."


@register("ai_answers")
def check_parts(app_configs, **kwargs) -> list[CheckMessage]:
    """E002: an alias without a backend, or a name that leads nowhere."""
    return [
        Error(message, hint=hint, id="ai_answers.E002")
        for message, hint in (*_broken_aliases(), *_broken_references(), *_broken_callables())
    ]


def _broken_aliases() -> Iterator[tuple[str, str]]:
    for name in ALIASES:
        for alias, entry in alias_entries(name).items():
            where = f"AI_ANSWERS[{name!r}][{alias!r}]"
            backend = entry.get("BACKEND") if isinstance(entry, Mapping) else None
            if not isinstance(backend, str):
                yield (
                    f"{where} must be a dict with a 'BACKEND', not {entry!r}.",
                    "'BACKEND' is the dotted path of a class or function; 'OPTIONS' its arguments.",
                )
            elif problem := problem_with(backend):
                yield f"{where} names {backend!r}: {problem}", "Install or correct it."
    runner = setting("RUNNER")
    if not isinstance(runner, str):
        yield f"AI_ANSWERS['RUNNER'] must be a dotted path, not {runner!r}.", "Leave it out."
    elif problem := problem_with(runner):
        yield f"AI_ANSWERS['RUNNER'] names {runner!r}: {problem}", "Install or correct it."


def _broken_references() -> Iterator[tuple[str, str]]:
    for alias, entry in alias_entries("INDEXES").items():
        if not isinstance(entry, Mapping):
            continue
        for key, name in (("EMBEDDING", "EMBEDDINGS"), ("RERANKER", "RERANKERS")):
            wanted, there_are = entry.get(key), alias_entries(name)
            if wanted is not None and wanted not in there_are:
                known = ", ".join(map(repr, there_are)) or "none"
                yield (
                    f"AI_ANSWERS['INDEXES'][{alias!r}] uses the {key} {wanted!r}, which "
                    f"AI_ANSWERS[{name!r}] does not have; there are: {known}.",
                    f"Add it to {name}, or set {key!r} to None.",
                )
        yield from _unknown_sources(alias, entry.get("SOURCES"))


def _unknown_sources(alias: str, wanted: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(wanted, list | tuple | set | frozenset):
        return  # E012 reports other types; None means all.
    from ..sources import registered

    known = [source.name for source in registered()]
    for name in wanted:
        if name not in known:
            yield (
                f"AI_ANSWERS['INDEXES'][{alias!r}]['SOURCES'] names {name!r}, which is not "
                f"registered; there are: {', '.join(map(repr, known)) or 'none'}.",
                "Register it in an ai_answers.py module of an installed app.",
            )


def _broken_callables() -> Iterator[tuple[str, str]]:
    for name in CALLABLES:
        value = setting(name)
        if value is not None and (problem := problem_with_callable(value)):
            yield (
                f"AI_ANSWERS[{name!r}] is {value!r}: {problem}",
                "Give a callable or its dotted path, or None.",
            )


@register("ai_answers")
def check_values(app_configs, **kwargs) -> list[CheckMessage]:
    """E012: a value of the wrong type or size."""
    wrong = [
        *_wrong_numbers(),
        *_wrong_types(),
        *_wrong_rates(),
        *_wrong_prices(),
        *_wrong_chunks(),
    ]
    return [
        Error(
            f"AI_ANSWERS{where} must be {right}, not {value!r}.",
            hint="docs/settings.md lists types, units and defaults.",
            id="ai_answers.E012",
        )
        for where, right, value in wrong
    ]


@register("ai_answers")
def check_secrets(app_configs, **kwargs) -> list[CheckMessage]:
    """W016: an empty key, as an environment variable that is not set leaves it."""
    return [
        Warning(
            f"AI_ANSWERS[{kind!r}][{alias!r}]['OPTIONS'][{name!r}] is empty; most vendors' classes "
            "cannot be built so.",
            hint="Set the environment variable it is read from; a server that asks for no key "
            "takes any text, such as 'none'.",
            id="ai_answers.W016",
        )
        for kind in VENDORS
        for alias, entry in alias_entries(kind).items()
        if isinstance(entry, Mapping) and isinstance(entry.get("OPTIONS"), Mapping)
        for name in empty_secrets(entry["OPTIONS"])
    ]


Wrong = Iterator[tuple[str, str, Any]]


def _wrong_numbers() -> Wrong:
    for name in POSITIVE:
        if not _is_whole(value := setting(name), least=1):
            yield f"[{name!r}]", "a whole number above 0", value
    for name in SECONDS:
        if not _is_seconds(value := setting(name)):
            yield f"[{name!r}]", "a number of seconds above 0", value
    value = setting("ABANDON_SECONDS")
    if value is not None and not _is_seconds(value):
        yield "['ABANDON_SECONDS']", "a number of seconds above 0, or None", value
    for name in ("RETENTION_DAYS", "LOG_DAYS"):
        value = setting(name)
        if value is not None and not _is_whole(value, least=1):
            yield f"[{name!r}]", "a whole number of days above 0, or None", value
    if not _is_whole(value := setting("TRUSTED_PROXIES"), least=0):
        yield "['TRUSTED_PROXIES']", "the number of proxies, 0 or more", value


def _wrong_types() -> Wrong:
    for name in (*ALIASES, "THROTTLE", "BUDGETS", "PRICES"):
        if not isinstance(value := setting(name), Mapping):
            yield f"[{name!r}]", "a dict", value
    for name in ("LINK_HOSTS", "LINK_MAIL_DOMAINS"):
        value = setting(name)
        if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
            yield f"[{name!r}]", "a list or tuple of strings", value
    if not isinstance(value := setting("LOG_TEXT"), bool):
        yield "['LOG_TEXT']", "True or False", value


def _wrong_rates() -> Wrong:
    for name, rate in alias_entries("THROTTLE").items():
        if rate is not None and not _is_rate(rate):
            yield f"['THROTTLE'][{name!r}]", "a rate such as '10/min', or None", rate
    for name, budget in alias_entries("BUDGETS").items():
        if budget is None:
            continue
        if not isinstance(budget, Mapping):
            yield f"['BUDGETS'][{name!r}]", "a dict, or None", budget
            continue
        for spent, most in budget.items():
            if most is not None and not _is_whole(most, least=0):
                yield f"['BUDGETS'][{name!r}][{spent!r}]", "a whole number, or None", most


def _wrong_prices() -> Wrong:
    for model, prices in alias_entries("PRICES").items():
        if not isinstance(prices, Mapping) or not set(PRICED) <= set(prices):
            right = "a dict with 'input' and 'output', what a million tokens cost"
            yield f"['PRICES'][{model!r}]", right, prices
            continue
        for name in PRICED:
            if not _is_price(prices[name]):
                where = f"['PRICES'][{model!r}][{name!r}]"
                yield where, "what a million tokens cost, 0 or more", prices[name]


def _wrong_chunks() -> Wrong:
    for alias, entry in alias_entries("INDEXES").items():
        if not isinstance(entry, Mapping):
            continue
        where = f"['INDEXES'][{alias!r}]"
        size, overlap = entry.get("CHUNK_TOKENS", 300), entry.get("CHUNK_OVERLAP", 100)
        if not _is_whole(size, least=1):
            yield f"{where}['CHUNK_TOKENS']", "a whole number above 0", size
        elif not _is_whole(overlap, least=0) or overlap >= size:
            yield f"{where}['CHUNK_OVERLAP']", f"below CHUNK_TOKENS ({size})", overlap
        sources = entry.get("SOURCES")
        if sources is not None and not isinstance(sources, list | tuple | set | frozenset):
            yield f"{where}['SOURCES']", "a list of source names, or None", sources


def _is_whole(value: Any, *, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _is_price(value: Any) -> bool:
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value >= 0


def _is_rate(value: Any) -> bool:
    number, slash, period = value.partition("/") if isinstance(value, str) else ("", "", "")
    return bool(number.isascii() and number.isdigit() and slash and period[:1] in set("smhd"))
