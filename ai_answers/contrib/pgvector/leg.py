"""Vectors in a table of PostgreSQL, in half precision, searched by pgvector.

Two ways to search, chosen from a sample. Where many are open to the asker the graph is followed,
on and on until there are enough (``hnsw.iterative_scan``, pgvector 0.8). Where few are, or there is
no graph, every open vector is compared: with 100,000 chunks of which 1,000 are open that takes less
time than the graph and misses nothing. In strict order the graph left out one hit in seven there,
so its order is relaxed and mended here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from django.db import connections, transaction

from ...exceptions import EmbeddingFailed
from ...retrieval.legs import Nearest, VectorsLeg
from .graph import TABLE, Graphs, Shape, distance, rows_of
from .sampling import Samples

FEW = 20
"""Open vectors for each one wanted; with fewer, comparing all of them takes less time."""
MOST_SCANNED = 200_000
"""Vectors that following a graph visits at most."""
SCAN_MEMORY = 2
"""Times the server's ``work_mem`` it takes at most: with 4 MB one time ends it early."""
COMMON = {
    "jit": "off",  # compiling takes longer than searching
    "plan_cache_mode": "force_custom_plan",  # the tags decide how to search
}
EACH = {"enable_indexscan": "off", "enable_sort": "on"}
"""Settings that keep a search off the graph."""

PUT = f"""
INSERT INTO {TABLE} (chunk_id, "index", embedding, tags, vector)
SELECT given.chunk_id, %s, %s, own.tags, given.vector::halfvec
FROM unnest(%s::bigint[], %s::text[]) AS given(chunk_id, vector)
CROSS JOIN LATERAL (
    SELECT array_agg(tag.tag::text) AS tags
    FROM ai_answers_indexedchunk AS chunk
    JOIN ai_answers_indexedtag AS tag ON tag.document_id = chunk.document_id
    WHERE chunk.id = given.chunk_id
) AS own
ON CONFLICT (chunk_id, embedding) DO UPDATE
SET "index" = excluded."index", tags = excluded.tags, vector = excluded.vector
"""  # noqa: S608 - constants of this module
NEAREST = """
SELECT chunk_id, 1 - ({distance} %s::halfvec({dimensions}))
FROM {table} WHERE {rows} AND (tags IS NULL OR tags && %s::text[])
ORDER BY {distance} %s::halfvec({dimensions}) LIMIT %s
"""
COSINES = """
SELECT chunk_id, 1 - ({distance} %s::halfvec({dimensions}))
FROM {table} WHERE {rows} AND chunk_id = ANY(%s)
"""


class PgVectors(VectorsLeg):
    """The vectors of index ``alias``; ``ef_search``: candidates of a search along the graph."""

    kept_in = "pgvector"

    def __init__(self, alias: str, using: str, *, ef_search: int, shape: Shape) -> None:
        super().__init__(alias, using)
        self.ef_search = ef_search
        self.graphs = Graphs(alias, using, shape)
        self.samples = Samples(alias, using, self.graphs)

    def put(
        self, chunk_ids: Sequence[int], vectors: np.ndarray, *, embedding: str, version: int
    ) -> None:
        rows = [_text(row) for row in vectors]
        self._execute(PUT, [self.alias, embedding, list(chunk_ids), rows])

    def remove(self, chunk_ids: Sequence[int]) -> None:
        self._execute(
            f'DELETE FROM {TABLE} WHERE "index" = %s AND chunk_id = ANY(%s)',  # noqa: S608
            [self.alias, list(chunk_ids)],
        )

    def keep_only(self, embedding: str) -> None:
        self._execute(
            f'DELETE FROM {TABLE} WHERE "index" = %s AND embedding <> %s',  # noqa: S608
            [self.alias, embedding],
        )

    def count(self, embedding: str) -> int:
        return sum(self._sizes(embedding).values())

    def build(self, embedding: str, *, exact_up_to: int) -> None:
        """Bring graphs in step with the vectors there are; slow, and best in no transaction."""
        self.graphs.bring_in_step(embedding, self._sizes(embedding), exact_up_to=exact_up_to)
        self.samples.forget()

    def nearest(
        self,
        query: np.ndarray,
        *,
        embedding: str,
        tags: frozenset[str],
        limit: int,
        also: Sequence[int],
    ) -> Nearest | None:
        sample = self.samples.get(embedding, len(query))
        if sample is None:
            if others := sorted(self._sizes(embedding)):
                raise EmbeddingFailed(
                    f"The query has {len(query)} dimensions, the vectors of index {self.alias!r} "
                    f"have {others[0]}; run ai_answers_index --rebuild."
                )
            return None
        follow = sample.has_graph and sample.open_to(tags) >= FEW * limit
        with transaction.atomic(using=self.using), self._cursor() as cursor:
            search = _Search(cursor, self.alias, embedding, query)
            found = search.nearest(tags, limit, self._along_the_graph(limit) if follow else EACH)
            if follow and len(found) < limit:  # the sample was wrong, or the scan too short
                found = search.nearest(tags, limit, EACH)
            found |= search.cosines([chunk_id for chunk_id in also if chunk_id not in found])
            # Nothing was written. Rolled back, the settings are gone in a caller's transaction too.
            transaction.set_rollback(True, using=self.using)
        usual = sample.vectors @ query
        return Nearest(cosines=found, usual=float(usual.mean()), spread=float(usual.std()))

    def _along_the_graph(self, limit: int) -> dict[str, str]:
        return {
            "enable_indexscan": "on",
            "enable_sort": "off",  # whatever else is in the right order needs one
            "hnsw.iterative_scan": "relaxed_order",
            "hnsw.ef_search": str(min(max(self.ef_search, limit), 1000)),
            "hnsw.max_scan_tuples": str(MOST_SCANNED),
            "hnsw.scan_mem_multiplier": str(SCAN_MEMORY),
        }

    def _sizes(self, embedding: str) -> dict[int, int]:
        """Count the vectors by their dimensions: of one length, but for the time of a rebuild."""
        with self._cursor() as cursor:
            cursor.execute(
                f"SELECT dimensions, count(*) FROM {TABLE} "  # noqa: S608
                'WHERE "index" = %s AND embedding = %s GROUP BY dimensions',
                [self.alias, embedding],
            )
            return dict(cursor.fetchall())

    def _execute(self, sql: str, values: Sequence) -> None:
        with self._cursor() as cursor:
            cursor.execute(sql, values)

    def _cursor(self):
        return connections[self.using].cursor()


class _Search:
    """The statements of one search, inside its transaction."""

    def __init__(self, cursor, alias: str, embedding: str, query: np.ndarray) -> None:
        self.cursor = cursor
        self.query = _text(query)
        self.parts = {
            "table": TABLE,
            "dimensions": len(query),
            "distance": distance(len(query)),
            "rows": rows_of(alias, embedding, len(query)).replace("%", "%%"),
        }

    def nearest(
        self, tags: frozenset[str], limit: int, settings: Mapping[str, str]
    ) -> dict[int, float]:
        """Return the cosines of the nearest chunks, best first."""
        settings = COMMON | settings
        calls = ", ".join(["set_config(%s, %s, true)"] * len(settings))
        self.cursor.execute(f"SELECT {calls}", [part for pair in settings.items() for part in pair])
        values = [self.query, sorted(tags), self.query, limit]
        self.cursor.execute(NEAREST.format(**self.parts), values)
        found = self.cursor.fetchall()
        return dict(sorted(found, key=lambda pair: (-pair[1], pair[0])))

    def cosines(self, chunk_ids: Sequence[int]) -> dict[int, float]:
        if not chunk_ids:
            return {}
        self.cursor.execute(COSINES.format(**self.parts), [self.query, list(chunk_ids)])
        return dict(self.cursor.fetchall())


def _text(vector: np.ndarray) -> str:
    # Six digits are twice what half precision keeps.
    return "[" + ",".join(["%.6g"] * len(vector)) % tuple(vector.tolist()) + "]"
