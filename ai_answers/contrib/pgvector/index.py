"""The index whose vectors PostgreSQL searches, and the leg that does it.

Up to ``EXACT`` vectors every one is compared; beyond, ``finish`` builds an HNSW index over half
precision for each embedding, without stopping writers. A search filters by tags in the query
itself and still returns as many as are wanted: the scan goes on where the filter takes some away
(pgvector 0.8). Settings of the search last for its transaction alone.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.db import connections, transaction

from ...exceptions import ConfigurationError, EmbeddingFailed
from ...retrieval.database import DatabaseIndex
from ...retrieval.legs import Nearest, VectorsLeg

logger = logging.getLogger(__name__)

TABLE = "ai_answers_pgvector"
EXACT = 5_000
"""Vectors that are compared one by one faster than an index pays."""
MOST_DIMENSIONS = 4_000
"""What an HNSW index over half precision takes."""
SAMPLE = 1_000
"""Vectors kept in memory to know what cosine is usual: 1.5 MB with 384 numbers each."""
SAMPLE_SECONDS = 60.0
"""After which a sample is taken anew if the number of vectors has changed."""
MOST_SCANNED = 200_000
"""Vectors a filtered search goes through at most."""

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
NEAREST = f"""
SELECT chunk_id, 1 - (vector::halfvec({{dimensions}}) <=> %s::halfvec({{dimensions}}))
FROM {TABLE} WHERE "index" = %s AND embedding = %s AND (tags IS NULL OR tags && %s::text[])
ORDER BY vector::halfvec({{dimensions}}) <=> %s::halfvec({{dimensions}}) LIMIT %s
"""  # noqa: S608
COSINES = f"""
SELECT chunk_id, 1 - (vector <=> %s::halfvec) FROM {TABLE}
WHERE chunk_id = ANY(%s) AND embedding = %s
"""  # noqa: S608


class PgVectorIndex(DatabaseIndex):
    """``ef_search``: candidates of a search; more finds more and is slower. ``m`` and
    ``ef_construction``: how densely the index is linked; see pgvector's documentation.
    """

    def __init__(
        self,
        alias: str,
        *,
        embedding: str | None = None,
        ef_search: int = 200,
        m: int = 16,
        ef_construction: int = 64,
        **options,
    ) -> None:
        super().__init__(alias, embedding=embedding, **options)
        self.build = Build(ef_search=ef_search, m=m, ef_construction=ef_construction)

    def make_vectors(self, using: str) -> VectorsLeg:
        if connections[using].vendor != "postgresql":
            raise ConfigurationError(
                f"AI_ANSWERS['INDEXES'][{self.alias!r}]: PgVectorIndex needs PostgreSQL, but "
                f"database {using!r} is {connections[using].vendor!r}."
            )
        return PgVectors(self.alias, using, self.build)

    def finish(self) -> None:
        super().finish()
        tables = self.tables(writing=True)
        if embedding := tables.state().embedding:
            tables.vectors.build_index(embedding)


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    ef_search: int
    m: int
    ef_construction: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    vectors: np.ndarray
    count: int
    """Vectors there were when it was taken."""
    taken_at: float


class PgVectors(VectorsLeg):
    def __init__(self, alias: str, using: str, build: Build) -> None:
        super().__init__(alias, using)
        self.settings = build
        self._samples: dict[str, _Sample] = {}
        self._lock = threading.Lock()

    def put(
        self, chunk_ids: Sequence[int], vectors: np.ndarray, *, embedding: str, version: int
    ) -> None:
        there = self._dimensions(embedding)
        if there not in (0, vectors.shape[1]):
            raise EmbeddingFailed(
                f"The embedding changed from {there} to {vectors.shape[1]} dimensions; "
                "run ai_answers_index --rebuild."
            )
        with self._cursor() as cursor:
            cursor.execute(
                PUT, [self.alias, embedding, list(chunk_ids), [_text(row) for row in vectors]]
            )

    def remove(self, chunk_ids: Sequence[int]) -> None:
        with self._cursor() as cursor:
            cursor.execute(
                f'DELETE FROM {TABLE} WHERE "index" = %s AND chunk_id = ANY(%s)',  # noqa: S608
                [self.alias, list(chunk_ids)],
            )

    def keep_only(self, embedding: str) -> None:
        with self._cursor() as cursor:
            cursor.execute(
                f'DELETE FROM {TABLE} WHERE "index" = %s AND embedding <> %s '  # noqa: S608
                "RETURNING embedding",
                [self.alias, embedding],
            )
            for old in {row[0] for row in cursor.fetchall()}:
                cursor.execute(f"DROP INDEX IF EXISTS {self._index_name(old)}")
                self._samples.pop(old, None)

    def count(self, embedding: str) -> int:
        with self._cursor() as cursor:
            cursor.execute(
                f'SELECT count(*) FROM {TABLE} WHERE "index" = %s AND embedding = %s',  # noqa: S608
                [self.alias, embedding],
            )
            return cursor.fetchone()[0]

    def nearest(
        self,
        query: np.ndarray,
        *,
        embedding: str,
        tags: frozenset[str],
        limit: int,
        also: Sequence[int],
    ) -> Nearest | None:
        sample = self._sample(embedding)
        if sample is None:
            return None
        dimensions = sample.vectors.shape[1]
        if len(query) != dimensions:
            raise EmbeddingFailed(
                f"The query has {len(query)} dimensions, the index {dimensions}; "
                "run ai_answers_index --rebuild."
            )
        wanted = _text(query)
        with transaction.atomic(using=self.using), self._cursor() as cursor:
            # For this transaction only; a savepoint gives them back as well.
            cursor.execute(
                "SELECT set_config('hnsw.ef_search', %s, true), "
                "set_config('hnsw.iterative_scan', 'strict_order', true), "
                "set_config('hnsw.max_scan_tuples', %s, true)",
                [str(min(max(self.settings.ef_search, limit), 1000)), str(MOST_SCANNED)],
            )
            cursor.execute(
                NEAREST.format(dimensions=dimensions),
                [wanted, self.alias, embedding, sorted(tags), wanted, limit],
            )
            cosines = dict(cursor.fetchall())
            if others := [chunk_id for chunk_id in also if chunk_id not in cosines]:
                cursor.execute(COSINES, [wanted, others, embedding])
                cosines |= dict(cursor.fetchall())
        usual = sample.vectors @ query
        return Nearest(cosines=cosines, usual=float(usual.mean()), spread=float(usual.std()))

    def build_index(self, embedding: str) -> None:
        """Build the HNSW index where there are vectors enough; outside a transaction if it can."""
        dimensions = self._dimensions(embedding)
        if dimensions > MOST_DIMENSIONS:
            logger.warning(
                "Vectors of %d dimensions are compared one by one: an index takes %d at most.",
                dimensions,
                MOST_DIMENSIONS,
            )
            return
        if self._has_index(embedding) or self.count(embedding) < EXACT:
            return
        name = self._index_name(embedding)
        # Without a transaction around it writers need not wait until it is built.
        concurrently = "" if connections[self.using].in_atomic_block else "CONCURRENTLY"
        with self._cursor() as cursor:
            cursor.execute(f"DROP INDEX IF EXISTS {name}")  # one that was broken off
            cursor.execute(
                f"CREATE INDEX {concurrently} {name} ON {TABLE} "
                f"USING hnsw ((vector::halfvec({dimensions})) halfvec_cosine_ops) "
                f"WITH (m = {int(self.settings.m)}, "
                f"ef_construction = {int(self.settings.ef_construction)}) "
                f'WHERE "index" = {_literal(self.alias)} AND embedding = {_literal(embedding)}'
            )

    def _has_index(self, embedding: str) -> bool:
        with self._cursor() as cursor:
            cursor.execute(
                "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)",
                [self._index_name(embedding)],
            )
            return cursor.fetchone() == (True,)

    def _index_name(self, embedding: str) -> str:
        digest = hashlib.sha256(f"{self.alias} {embedding}".encode()).hexdigest()
        return f"ai_answers_hnsw_{digest[:32]}"

    def _dimensions(self, embedding: str) -> int:
        """Return the length of the vectors that are there; 0 without any."""
        with self._cursor() as cursor:
            cursor.execute(
                f"SELECT vector_dims(vector) FROM {TABLE} "  # noqa: S608
                'WHERE "index" = %s AND embedding = %s LIMIT 1',
                [self.alias, embedding],
            )
            return (cursor.fetchone() or (0,))[0]

    def _sample(self, embedding: str) -> _Sample | None:
        """Return vectors spread evenly over all; ``None`` when there are none."""
        with self._lock:
            sample = self._samples.get(embedding)
            if sample and time.monotonic() - sample.taken_at < SAMPLE_SECONDS:
                return sample
            count = self.count(embedding)
            if not sample or sample.count != count:
                sample = self._take_sample(embedding, count)
            if sample is None:
                self._samples.pop(embedding, None)
                return None
            self._samples[embedding] = _Sample(
                vectors=sample.vectors, count=count, taken_at=time.monotonic()
            )
            return sample

    def _take_sample(self, embedding: str, count: int) -> _Sample | None:
        if not count:
            return None
        with self._cursor() as cursor:
            cursor.execute(
                f"""
                SELECT vector::text FROM {TABLE} WHERE embedding = %s AND chunk_id IN (
                    SELECT chunk_id FROM (
                        SELECT chunk_id, row_number() OVER (ORDER BY chunk_id) AS place
                        FROM {TABLE} WHERE "index" = %s AND embedding = %s
                    ) AS numbered WHERE place %% %s = 0
                ) LIMIT {SAMPLE}
                """,  # noqa: S608
                [embedding, self.alias, embedding, max(count // SAMPLE, 1)],
            )
            rows = [np.fromstring(text[1:-1], np.float32, sep=",") for (text,) in cursor]
        return _Sample(vectors=np.vstack(rows), count=count, taken_at=0.0) if rows else None

    def _cursor(self):
        return connections[self.using].cursor()


def _text(vector: np.ndarray) -> str:
    return f"[{','.join(f'{number:.6g}' for number in vector.tolist())}]"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
