"""Checks of ``INDEXES`` beyond their names: what an index is made of, and what it needs.

In: the ``OPTIONS`` of each index. Out: E002 for a vector store, a retriever, words or a filter that
cannot be imported, E021 for an index that cannot work as it is set up. Nothing of a vendor is
imported, no server asked. Test with ``override_settings`` and ``run_checks``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from django.core.checks import CheckMessage, Error, register
from django.db import connections, router

from ..models import IndexedDocument
from .dotted_paths import problem_with
from .settings import alias_entries

DATABASE_INDEX = "ai_answers.retrieval.database.DatabaseIndex"
VECTOR_STORE_INDEX = "ai_answers.retrieval.vector_store.VectorStoreIndex"
RETRIEVER_INDEX = "ai_answers.retrieval.retriever.RetrieverIndex"
OPENSEARCH_WORDS = "ai_answers.contrib.opensearch.OpenSearchWords"

FULL_TEXT = ("sqlite", "postgresql")
"""Databases whose full text ``DatabaseIndex`` can use."""
PARTS = ("store", "retriever", "words")
"""Options that are a ``BACKEND`` with ``OPTIONS`` of its own."""
NEEDED = {VECTOR_STORE_INDEX: "store", RETRIEVER_INDEX: "retriever"}
"""Backend → the part it cannot do without."""

Problems = Iterator[tuple[str, str]]


@register("ai_answers")
def check_parts_of_indexes(app_configs, **kwargs) -> list[CheckMessage]:
    """E002: a part of an index that leads nowhere."""
    return [
        Error(message, hint=hint, id="ai_answers.E002")
        for alias, entry in _entries()
        for message, hint in _broken_parts(alias, entry)
    ]


@register("ai_answers")
def check_needs_of_indexes(app_configs, **kwargs) -> list[CheckMessage]:
    """E021: an index without what it cannot do without."""
    return [
        Error(message, hint=hint, id="ai_answers.E021")
        for alias, entry in _entries()
        for message, hint in _unmet_needs(alias, entry)
    ]


def _entries() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for alias, entry in alias_entries("INDEXES").items():
        if isinstance(entry, Mapping) and isinstance(entry.get("OPTIONS", {}), Mapping):
            yield alias, entry


def _broken_parts(alias: str, entry: Mapping[str, Any]) -> Problems:
    options = entry.get("OPTIONS", {})
    where = f"AI_ANSWERS['INDEXES'][{alias!r}]['OPTIONS']"
    for name in PARTS:
        part = options.get(name)
        backend = part.get("BACKEND") if isinstance(part, Mapping) else None
        if backend is None:
            if part is not None or NEEDED.get(entry.get("BACKEND")) == name:
                yield (
                    f"{where} needs {name!r}, a dict with BACKEND and OPTIONS, not {part!r}.",
                    "'BACKEND' is the dotted path of a class or function; 'OPTIONS' its arguments.",
                )
        elif problem := problem_with(str(backend)):
            yield f"{where}[{name!r}] names {backend!r}: {problem}", _what_to_install(backend)
    if (path := options.get("filter")) and (problem := problem_with(str(path))):
        yield f"{where}['filter'] names {path!r}: {problem}", "Correct it, or leave it out."


def _what_to_install(backend: str) -> str:
    package = str(backend).split(".")[0]
    try:
        is_there = find_spec(package) is not None
    except (ImportError, ValueError):
        is_there = False
    if is_there:
        return "Correct it."
    return f"Install it: pip install {package.replace('_', '-')}"


def _unmet_needs(alias: str, entry: Mapping[str, Any]) -> Problems:
    backend, options = entry.get("BACKEND"), entry.get("OPTIONS", {})
    words = options.get("words")
    if backend == DATABASE_INDEX and words is None:
        using = router.db_for_write(IndexedDocument)
        vendor = connections[using].vendor
        if vendor not in FULL_TEXT:
            yield (
                f"The index {alias!r} needs a database with full text it can use, "
                f"{' or '.join(FULL_TEXT)}; database {using!r} is {vendor!r}.",
                f"Set its BACKEND to {VECTOR_STORE_INDEX!r}, or name another leg for 'words' in "
                "its OPTIONS.",
            )
    if backend == VECTOR_STORE_INDEX and not entry.get("EMBEDDING"):
        yield (
            f"The index {alias!r} searches a vector store and has no EMBEDDING.",
            "Name an alias of EMBEDDINGS.",
        )
    uses_opensearch = isinstance(words, Mapping) and words.get("BACKEND") == OPENSEARCH_WORDS
    if uses_opensearch and find_spec("opensearchpy") is None:
        yield (
            f"The index {alias!r} asks OpenSearch for words, but opensearch-py is not installed.",
            "Install it: pip install django-ai-answers[opensearch]",
        )
