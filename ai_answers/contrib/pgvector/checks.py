"""E020: an index keeps its vectors in PostgreSQL, but its database is another one."""

from __future__ import annotations

from collections.abc import Mapping

from django.core.checks import CheckMessage, Error
from django.db import connections, router

from ...checks.settings import alias_entries
from ...models import IndexedDocument

BACKENDS = (
    "ai_answers.contrib.pgvector.PgVectorIndex",
    "ai_answers.contrib.pgvector.index.PgVectorIndex",
)


def check_database(app_configs, **kwargs) -> list[CheckMessage]:
    """E020; that the app itself is missing can only be said by others: E021."""
    using = router.db_for_write(IndexedDocument)
    vendor = connections[using].vendor  # known without a connection
    if vendor == "postgresql":
        return []
    return [
        Error(
            f"The index {alias!r} keeps its vectors in PostgreSQL, but database {using!r} is "
            f"{vendor!r}.",
            hint="Use ai_answers.retrieval.database.DatabaseIndex there.",
            id="ai_answers.E020",
        )
        for alias, entry in alias_entries("INDEXES").items()
        if isinstance(entry, Mapping) and entry.get("BACKEND") in BACKENDS
    ]
