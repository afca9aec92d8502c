"""Every key a project may set in ``AI_ANSWERS``, typed, with its default and unit.

Read on each access, so tests need no reset. A misspelt key raises ``ConfigurationError``
naming the closest right one; the check ``ai_answers.E001`` reports it at start-up.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from .exceptions import ConfigurationError

THROTTLE = {"burst": "10/min", "sustained": "200/day", "feedback": "30/min", "search": "30/min"}
BUDGETS = {
    "site": {"questions": 2000, "tokens": 5_000_000},
    "agent": {"questions": 2000, "tokens": 5_000_000},
    "visitor": {"questions": 200, "tokens": 500_000},
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    CHAT_MODELS: Mapping[str, Mapping[str, Any]] = field(
        default_factory=lambda: {
            "default": {"BACKEND": "ai_answers.chat_models.extractive.ExtractiveChatModel"}
        }
    )
    """Alias → ``{"BACKEND": dotted path of a LangChain chat model, "OPTIONS": {…}}``, with
    ``TRIES`` (3, a model call) and ``FALLBACK`` (alias to ask when it fails, or ``None``)."""
    EMBEDDINGS: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Alias → ``{"BACKEND": dotted path of a LangChain ``Embeddings``, "OPTIONS": {…}}``, with
    ``BATCH`` (64 texts), ``BATCH_TOKENS`` (16,000), ``TRIES`` (6), ``SECONDS`` (10, a query)."""
    RERANKERS: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Alias → ``{"BACKEND": dotted path of a document compressor, "OPTIONS": {…}}``, with
    ``SECONDS`` (10, a search)."""
    INDEXES: Mapping[str, Mapping[str, Any]] = field(
        default_factory=lambda: {
            "default": {"BACKEND": "ai_answers.retrieval.database.DatabaseIndex"}
        }
    )
    """Alias → ``BACKEND``, ``EMBEDDING`` (alias or ``None``), ``RERANKER`` (alias or ``None``),
    ``CHUNK_TOKENS`` (300), ``CHUNK_OVERLAP`` (100), ``SOURCES`` (names, default all),
    ``OPTIONS``."""

    INDEXING_TASKS: str | None = None
    """Alias of ``TASKS`` whose backend indexes saved objects; ``None``: in place, at the commit."""

    RUNNER: str = "ai_answers.runs.runner.ThreadRunner"
    """Where runs execute: ``ThreadRunner``, or ``InlineRunner`` for a site's own ``TestCase``."""

    MAX_QUESTION_CHARS: int = 2_000
    """Longest question, in characters."""
    MAX_BODY_BYTES: int = 64 * 1024
    """Largest request body, in bytes."""
    MAX_ROUNDS: int = 4
    """Model calls one run may make before it has to answer."""
    MAX_TOOL_CALLS: int = 8
    """Tool calls carried out per round; further ones are refused by message."""
    MAX_SOURCES: int = 20
    """Numbered sources per turn."""
    MAX_ANSWER_CHARS: int = 64_000
    """Characters after which an answer is cut."""
    PROMPT_TOKENS: int = 16_000
    """Tokens of sources and history together; the oldest history goes first."""
    FIRST_CONTENT_SECONDS: float = 30
    """From a model call to its first content."""
    IDLE_CONTENT_SECONDS: float = 30
    """Between two pieces of content; keep-alives do not count."""
    RUN_SECONDS: float = 120
    """Wall time of a whole run."""
    TOOL_SECONDS: float = 30
    """Wall time of one tool call."""
    ABANDON_SECONDS: float | None = None
    """End a run nobody has read for this long; ``None`` lets it finish."""
    HEARTBEAT_SECONDS: float = 15
    """Between two comment lines on an idle stream."""

    THROTTLE: Mapping[str, str | None] = field(default_factory=lambda: THROTTLE)
    """Questions (``burst``, ``sustained``), votes (``feedback``) and searches (``search``) per
    visitor, in DRF's rate form; ``None`` switches a rate off, a missing one keeps its default."""
    BUDGETS: Mapping[str, Mapping[str, int | None] | None] = field(default_factory=lambda: BUDGETS)
    """Questions and tokens a day for the ``site``, one ``agent`` and one ``visitor``; what is left
    out keeps its default, ``None`` switches a number or a whole budget off."""
    PRICES: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Name of a model → ``{"input": …, "output": …}``, what a million tokens cost, in whatever
    currency the site reckons in. A chat model whose options name no model goes by its alias."""
    TRUSTED_PROXIES: int = 0
    """Proxies in front of the site that write ``X-Forwarded-For``; 0 ignores that header."""
    LINK_HOSTS: tuple[str, ...] = ()
    """Hosts besides the site's own that links in an answer may lead to."""
    LINK_MAIL_DOMAINS: tuple[str, ...] = ()
    """Domains that ``mailto:`` links in an answer may address."""

    RETENTION_DAYS: int | None = 90
    """Age at which ``ai_answers_purge`` deletes conversations; ``None`` keeps them."""
    LOG_DAYS: int | None = 30
    """Age at which ``ai_answers_purge`` deletes entries of the run log; ``None`` keeps them as
    long as their conversations."""
    LOG_TEXT: bool = False
    """Whether run logs may hold prompts, tool calls and the model's own words."""

    TRACER: Mapping[str, Any] | None = None
    """``{"BACKEND": dotted path of an ``answers.tracing.Tracer``, "OPTIONS": {…}}``; ``None``: runs
    are traced nowhere."""

    SCOPE: str | Callable[..., Any] | None = None
    """``callable(request) -> value`` handed to sources as ``asker.scope``; plain data only."""
    USER_ACCESS_TAGS: str | Callable[..., Any] | None = None
    """``callable(asker) -> iterable of str``: the access tags an asker holds."""
    ENTAILMENT: str | Callable[..., Any] | None = None
    """``callable([(premise, hypothesis), …]) -> [float or None, …]``: how likely each hypothesis
    follows from its premise, 0 to 1. Asked by agents that compare answers with their sources."""
    MASK: str | Callable[..., Any] | None = None
    """``callable(text) -> text``: masks a question before it is stored or sent."""


def app_settings() -> Settings:
    """Return the settings in force now."""
    given = getattr(settings, "AI_ANSWERS", {})
    unknown = unknown_keys(given)
    if unknown:
        raise ConfigurationError(unknown[0])
    return Settings(**given)


def unknown_keys(given: Mapping[str, Any]) -> list[str]:
    """Describe each key of ``given`` that does not exist, with the closest that does."""
    known = [f.name for f in fields(Settings)]
    messages = []
    for key in given:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known keys: {', '.join(known)}."
            messages.append(f"AI_ANSWERS has no key {key!r}; {hint}")
    return messages


def alias_settings(kind: str, alias: str) -> Mapping[str, Any]:
    """Return the entry ``alias`` of ``CHAT_MODELS``, ``EMBEDDINGS``, ``RERANKERS`` or ``INDEXES``.

    Raises ``ConfigurationError`` that lists the aliases there are.
    """
    aliases = getattr(app_settings(), kind)
    try:
        entry = aliases[alias]
    except KeyError:
        there_are = ", ".join(map(repr, aliases)) or "none"
        raise ConfigurationError(
            f"AI_ANSWERS[{kind!r}] has no alias {alias!r}; there are: {there_are}."
        ) from None
    if not isinstance(entry, Mapping) or "BACKEND" not in entry:
        # Its options may hold a key, and the message goes to the log.
        given = f"one with {sorted(map(str, entry))}" if isinstance(entry, Mapping) else repr(entry)
        raise ConfigurationError(
            f"AI_ANSWERS[{kind!r}][{alias!r}] must be a dict with a 'BACKEND' (dotted path), "
            f"not {given}."
        )
    return entry


def import_part(path: str, *, setting: str) -> Any:
    """Import the dotted ``path`` that ``setting`` names, with an error that names both."""
    try:
        return import_string(path)
    except ImportError as error:
        raise ConfigurationError(
            f"{setting} names {path!r}, which cannot be imported: {error}"
        ) from error


def make_part(path: str, *args: Any, setting: str, options: Any, **keywords: Any) -> Any:
    """Import ``path`` and call it; ``options`` are the ``OPTIONS`` that ``setting`` has for it.

    Raises ``ConfigurationError`` for options that are no dict, or that it does not take.
    """
    part = import_part(path, setting=setting)
    if not isinstance(options, Mapping):
        raise ConfigurationError(f"{setting}: OPTIONS must be a dict, not {options!r}.")
    try:
        return part(*args, **keywords, **options)
    except TypeError as error:
        raise ConfigurationError(
            f"{setting}: {path} could not be made of OPTIONS with "
            f"{', '.join(map(repr, options)) or 'nothing'} in them: {error}"
        ) from error


def setting_callable(name: str) -> Callable[..., Any] | None:
    """Return the callable a setting such as ``SCOPE`` names by dotted path or holds itself."""
    value = getattr(app_settings(), name)
    if isinstance(value, str):
        value = import_part(value, setting=f"AI_ANSWERS[{name!r}]")
    if value is not None and not callable(value):
        raise ConfigurationError(
            f"AI_ANSWERS[{name!r}] must be a callable or its dotted path, not {value!r}."
        )
    return value
