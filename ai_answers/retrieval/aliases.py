"""From an alias in ``INDEXES`` to a ready index, made once a process for each setting."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..conf import alias_settings, import_part, make_part
from ..exceptions import ConfigurationError
from .base import Index

KEYS = {
    "BACKEND": "backend",
    "EMBEDDING": "embedding",
    "RERANKER": "reranker",
    "CHUNK_TOKENS": "chunk_tokens",
    "CHUNK_OVERLAP": "chunk_overlap",
    "SOURCES": "sources",
    "OPTIONS": "options",
}

LONGEST_ALIAS = 100
"""What the tables have room for."""

_made: dict[str, tuple[Any, Index]] = {}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSettings:
    """One entry of ``INDEXES``, checked."""

    backend: str
    embedding: str | None = None
    reranker: str | None = None
    chunk_tokens: int = 300
    chunk_overlap: int = 100
    sources: tuple[str, ...] | None = None
    """Names of the sources in it; ``None``: all."""
    options: Mapping[str, Any] = field(default_factory=dict)


def index_settings(alias: str) -> IndexSettings:
    """Read ``INDEXES[alias]``. Raises ``ConfigurationError`` for unknown keys and bad sizes."""
    entry = alias_settings("INDEXES", alias)
    unknown = [key for key in entry if key not in KEYS]
    if unknown:
        raise ConfigurationError(
            f"AI_ANSWERS['INDEXES'][{alias!r}] has no key {unknown[0]!r}; "
            f"known keys: {', '.join(KEYS)}."
        )
    found = IndexSettings(**{KEYS[key]: value for key, value in entry.items()})
    if len(alias) > LONGEST_ALIAS:
        raise ConfigurationError(
            f"AI_ANSWERS['INDEXES'] has an alias of {len(alias)} characters, {alias[:20]!r}…; "
            f"at most {LONGEST_ALIAS} are possible."
        )
    if not 0 <= found.chunk_overlap < found.chunk_tokens:
        raise ConfigurationError(
            f"AI_ANSWERS['INDEXES'][{alias!r}]: CHUNK_OVERLAP must be from 0 to below "
            f"CHUNK_TOKENS, not {found.chunk_overlap!r} of {found.chunk_tokens!r}."
        )
    return found


def get_index(alias: str = "default") -> Index:
    """Return the index of that alias; raises ``ConfigurationError`` when it cannot be made."""
    entry = index_settings(alias)
    with _lock:
        made = _made.get(alias)
        if made is None or made[0] != entry:
            setting = f"AI_ANSWERS['INDEXES'][{alias!r}]"
            backend = import_part(entry.backend, setting=setting)
            if not (isinstance(backend, type) and issubclass(backend, Index)):
                raise ConfigurationError(
                    f"{setting} names {entry.backend!r}, which is no "
                    "subclass of ai_answers.retrieval.Index."
                )
            index = make_part(
                entry.backend,
                alias,
                setting=setting,
                options=entry.options,
                embedding=entry.embedding,
            )
            made = _made[alias] = (entry, index)
        return made[1]
