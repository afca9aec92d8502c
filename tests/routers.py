"""Where the index's tables are: in the site's database, or in the other one for some tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

MODELS = (
    "indexstate",
    "indexeddocument",
    "indexedtag",
    "indexedchunk",
    "indexedvector",
    "indexleftover",
)

_database = "default"


@contextmanager
def index_in(database: str) -> Iterator[None]:
    """Send all index tables to ``database``; for every thread, as searches run on their own.

    To the only one there is, where the whole suite runs on PostgreSQL.
    """
    global _database
    before, _database = _database, database if database in settings.DATABASES else "default"
    try:
        yield
    finally:
        _database = before


class IndexRouter:
    def db_for_read(self, model, **hints):
        is_index = model._meta.app_label == "ai_answers" and model._meta.model_name in MODELS
        return _database if is_index else None

    db_for_write = db_for_read
