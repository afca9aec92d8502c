"""Choosing between the languages an object exists in (S54)."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from .base import Source, texts_of

logger = logging.getLogger(__name__)


def best_language(source: Source, obj: Any, asker_language: str, retrieved_language: str) -> str:
    """Return the language to show ``obj`` in: the asker's if it has it, else the retrieved one.

    ``pt-br`` is served by ``pt`` and the other way round, an exact match coming first. When the
    retrieved one is gone as well, the first that the object has.
    """
    try:
        languages = texts_of(source.get_languages(obj))
    except Exception:
        logger.exception("get_languages of %r failed; the retrieved language is kept.", source)
        return retrieved_language
    found = closest(languages, asker_language)
    if found is not None:
        return found
    if retrieved_language in languages or not languages:
        return retrieved_language
    return languages[0]


def closest(languages: Iterable[str], wanted: str) -> str | None:
    """Return the one of ``languages`` that serves a reader of ``wanted``, or ``None``."""
    if not wanted:
        return None
    by_folded = {language.lower().replace("_", "-"): language for language in languages if language}
    folded = wanted.lower().replace("_", "-")
    if folded in by_folded:
        return by_folded[folded]
    primary = folded.split("-")[0]
    if primary in by_folded:
        return by_folded[primary]
    for code, language in by_folded.items():
        if code.split("-")[0] == primary:
            return language
    return None


def serves(language: str, wanted: str) -> bool:
    """Return whether text in ``language`` serves a reader of ``wanted``; unknown ones do."""
    return not language or not wanted or closest([language], wanted) is not None
