"""Where some tables are: in the site's database, or in the other one for some tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from django.conf import settings

MODELS = (
    "indexstate",
    "indexeddocument",
    "indexedtag",
    "indexedchunk",
    "indexedvector",
    "indexleftover",
)

_databases: dict[str, str] = {}


@contextmanager
def tables_in(database: str, *models: str) -> Iterator[None]:
    """Send the tables of ``models`` to ``database``; for every thread, as runs have their own.

    To the only one there is, where the whole suite runs on PostgreSQL.
    """
    global _databases
    chosen = database if database in settings.DATABASES else "default"
    before, _databases = _databases, _databases | dict.fromkeys(models, chosen)
    try:
        yield
    finally:
        _databases = before


def index_in(database: str) -> AbstractContextManager[None]:
    """Send all index tables to ``database``."""
    return tables_in(database, *MODELS)


class TableRouter:
    def db_for_read(self, model, **hints):
        ours = model._meta.app_label == "ai_answers"
        return _databases.get(model._meta.model_name) if ours else None

    db_for_write = db_for_read
