"""Every kind of index a site can set up, for tests that must hold on all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from .. import postgres, stores
from .embedding import settings_with_embedding

DATABASE = "ai_answers.retrieval.database.DatabaseIndex"
PGVECTOR = "ai_answers.contrib.pgvector.index.PgVectorIndex"
VECTOR_STORE = "ai_answers.retrieval.vector_store.VectorStoreIndex"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    name: str
    path: str = DATABASE
    has_vectors: bool = False
    database: str = "default"
    options: Mapping[str, Any] = field(default_factory=dict)
    has_opensearch: bool = False

    def missing(self) -> str:
        """Say what it lacks here; empty when nothing."""
        if self.has_opensearch:
            return stores.missing("opensearchpy", "osmem_server")
        return postgres.missing() if self.database == "postgresql" else ""

    def settings(self) -> dict[str, Any]:
        """Return ``AI_ANSWERS`` of the tests with the default index on this backend."""
        entry = {"BACKEND": self.path, "OPTIONS": dict(self.options)}
        if self.has_opensearch:
            address = f"http://127.0.0.1:{stores.running(stores.opensearch)}"
            entry["OPTIONS"]["words"] = {
                "BACKEND": "ai_answers.contrib.opensearch.OpenSearchWords",
                "OPTIONS": {"hosts": [address], "index": "all-backends"},
            }
        if self.has_vectors:
            entry["EMBEDDING"] = "concepts"
        return {**settings.AI_ANSWERS, **settings_with_embedding(), "INDEXES": {"default": entry}}


BACKENDS = [
    Backend(name="sqlite"),
    Backend(name="sqlite-vectors", has_vectors=True),
    Backend(name="postgresql", database="postgresql"),
    Backend(name="postgresql-vectors", database="postgresql", has_vectors=True),
    Backend(name="pgvector", path=PGVECTOR, database="postgresql", has_vectors=True),
    Backend(
        name="vector-store",
        path=VECTOR_STORE,
        has_vectors=True,
        options={"store": {"BACKEND": "langchain_core.vectorstores.InMemoryVectorStore"}},
    ),
    Backend(name="opensearch", has_opensearch=True),
]
