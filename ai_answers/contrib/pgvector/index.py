"""The index whose vectors PostgreSQL searches.

In: entries and queries, as for ``DatabaseIndex``. Out: hits. All but the vectors is as there. A
graph that makes searches fast is built at the end of ``ai_answers_index``, where there are vectors
enough; until then, and without it, every vector is compared. To be tested against a server.
"""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db import connections

from ...exceptions import ConfigurationError
from ...retrieval.database import DatabaseIndex
from ...retrieval.legs import VectorsLeg
from .graph import Shape
from .leg import PgVectors

APP = "ai_answers.contrib.pgvector"


class PgVectorIndex(DatabaseIndex):
    """``ef_search``: candidates of a search, from 1 to 1000; more finds more and is slower.

    ``m`` (2 to 100) and ``ef_construction`` (twice ``m`` to 1000): how densely the graph is linked,
    see pgvector's documentation; after a change the next ``ai_answers_index`` builds another one.
    ``exact_up_to``: vectors for which there is no graph, as comparing them one by one is fast.
    """

    def __init__(
        self,
        alias: str,
        *,
        embedding: str | None = None,
        ef_search: int = 800,
        m: int = 16,
        ef_construction: int = 64,
        exact_up_to: int = 5_000,
        **options: Any,
    ) -> None:
        super().__init__(alias, embedding=embedding, **options)
        if not apps.is_installed(APP):
            raise ConfigurationError(
                f"AI_ANSWERS['INDEXES'][{alias!r}]: PgVectorIndex needs {APP!r} in "
                "INSTALLED_APPS, and its migrations."
            )
        self.ef_search = self._within("ef_search", ef_search, 1, 1000)
        self.shape = Shape(
            m=self._within("m", m, 2, 100),
            ef_construction=self._within("ef_construction", ef_construction, 2 * m, 1000),
        )

        self.exact_up_to = self._within("exact_up_to", exact_up_to, 0, 100_000)

    def make_vectors(self, using: str) -> VectorsLeg:
        if connections[using].vendor != "postgresql":
            raise ConfigurationError(
                f"AI_ANSWERS['INDEXES'][{self.alias!r}]: PgVectorIndex needs PostgreSQL, but "
                f"database {using!r} is {connections[using].vendor!r}."
            )
        return PgVectors(self.alias, using, ef_search=self.ef_search, shape=self.shape)

    def finish(self) -> None:
        super().finish()
        tables = self.tables(writing=True)
        tables.vectors.build(tables.state().embedding, exact_up_to=self.exact_up_to)

    def _within(self, name: str, value: Any, least: int, most: int) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        raise ConfigurationError(
            f"AI_ANSWERS['INDEXES'][{self.alias!r}]: {name} must be a whole number from {least} "
            f"to {most}, not {value!r}."
        )
