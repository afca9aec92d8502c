"""E020: the app is there, but the database of the index is not PostgreSQL."""

from __future__ import annotations

from django.core.checks import CheckMessage, Error
from django.db import connections, router

from ...checks.settings import alias_entries
from ...models import IndexedDocument

BACKEND = "ai_answers.contrib.pgvector.index.PgVectorIndex"


def check_database(app_configs, databases=None, **kwargs) -> list[CheckMessage]:
    used = [
        alias
        for alias, entry in alias_entries("INDEXES").items()
        if entry.get("BACKEND") == BACKEND
    ]
    using = router.db_for_write(IndexedDocument)
    vendor = connections[using].vendor
    if not used or vendor == "postgresql":
        return []
    return [
        Error(
            f"The index {used[0]!r} keeps its vectors in PostgreSQL, but database {using!r} is "
            f"{vendor!r}.",
            hint="Use ai_answers.retrieval.database.DatabaseIndex there.",
            id="ai_answers.E020",
        )
    ]
