"""HNSW graphs over the vectors of one leg: what they are called, built and dropped.

One graph for each embedding and number of dimensions of an index, as a partial index; a search
repeats its condition and its expression word for word (``rows_of``, ``distance``), or PostgreSQL
does not use it. Outside a transaction everything is done CONCURRENTLY: writers and searches go on,
and no lock waits for a backup to end. Inside one, as in a test, it is done at once.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connections

logger = logging.getLogger(__name__)

TABLE = "ai_answers_pgvector"
MOST_DIMENSIONS = 4_000
"""What an HNSW index over half precision takes."""
MOST_MEMORY = 1_048_576
"""kB that a build takes at most, where the server would give it less."""

GRAPHS = """
SELECT name.relname, graph.indisvalid
FROM pg_index AS graph JOIN pg_class AS name ON name.oid = graph.indexrelid
WHERE graph.indrelid = to_regclass(%s) AND starts_with(name.relname, %s)
"""
MEMORY = "SELECT setting::bigint FROM pg_settings WHERE name = 'maintenance_work_mem'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How densely a graph is linked."""

    m: int
    ef_construction: int


def rows_of(index: str, embedding: str, dimensions: int) -> str:
    """Return the SQL condition for one embedding's vectors of one length, without parameters."""
    return (
        f'"index" = {_literal(index)} AND embedding = {_literal(embedding)} '
        f"AND dimensions = {int(dimensions)}"
    )


def distance(dimensions: int) -> str:
    """Return the SQL expression a graph is over, with its operator: what is near comes first."""
    return f"(vector::halfvec({int(dimensions)})) <=>"


class Graphs:
    """The graphs of index ``alias`` in the database ``using``."""

    def __init__(self, alias: str, using: str, shape: Shape) -> None:
        self.alias = alias
        self.using = using
        self.shape = shape
        self._prefix = f"ai_answers_hnsw_{_digest(alias)}_"

    def is_there(self, embedding: str, dimensions: int) -> bool:
        """Tell whether searches can use a graph, be it of another shape than the one set."""
        start = self._start(embedding, dimensions)
        return any(name.startswith(start) and valid for name, valid in self._all())

    def bring_in_step(self, embedding: str, sizes: Mapping[int, int], *, exact_up_to: int) -> None:
        """Build what is lacking for ``embedding``, then drop what nobody needs any more.

        ``sizes``: vectors by dimensions; up to ``exact_up_to`` there is no graph. Left out where
        another process is at it.
        """
        with self._alone() as is_alone:
            if is_alone:
                self._bring_in_step(embedding, sizes, exact_up_to)
            else:
                logger.info("Another process builds graphs; index %r is left out.", self.alias)

    def _bring_in_step(self, embedding: str, sizes: Mapping[int, int], exact_up_to: int) -> None:
        wanted = {
            self._name(embedding, dimensions): dimensions
            for dimensions, vectors in sizes.items()
            if vectors > exact_up_to and _fits(dimensions)
        }
        there = dict(self._all())
        for name, dimensions in wanted.items():
            if not there.get(name):
                if name in there:  # broken off
                    self._drop(name)
                self._build(name, embedding, dimensions, vectors=sizes[dimensions])
        for name in there.keys() - wanted.keys():
            self._drop(name)

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Keep others off: two that build on one table at once would wait for each other."""
        if connections[self.using].in_atomic_block:
            yield self._ask("SELECT pg_try_advisory_xact_lock(hashtext(%s))", TABLE)
            return
        is_alone = self._ask("SELECT pg_try_advisory_lock(hashtext(%s))", TABLE)
        try:
            yield is_alone
        finally:
            if is_alone:
                self._ask("SELECT pg_advisory_unlock(hashtext(%s))", TABLE)

    def _ask(self, sql: str, value: str) -> bool:
        with self._cursor() as cursor:
            cursor.execute(sql, [value])
            return cursor.fetchone()[0]

    def _build(self, name: str, embedding: str, dimensions: int, *, vectors: int) -> None:
        logger.info("Building the graph %s over %d vectors.", name, vectors)
        is_atomic = connections[self.using].in_atomic_block
        with self._cursor() as cursor:
            given = self._room(cursor, _kilobytes(vectors, dimensions, self.shape.m))
            try:
                for setting, value in given.items():
                    cursor.execute("SELECT set_config(%s, %s, %s)", [setting, value, is_atomic])
                cursor.execute(
                    f"CREATE INDEX {self._concurrently} IF NOT EXISTS {name} ON {TABLE} USING hnsw "
                    f"((vector::halfvec({dimensions})) halfvec_cosine_ops) "
                    f"WITH (m = {self.shape.m}, ef_construction = {self.shape.ef_construction}) "
                    f"WHERE {rows_of(self.alias, embedding, dimensions)}"
                )
            finally:
                for setting in () if is_atomic else given:
                    cursor.execute(f"RESET {setting}")

    def _room(self, cursor, kilobytes: int) -> dict[str, str]:
        """Return the settings that let a build take the time and memory it needs."""
        cursor.execute(MEMORY)
        settings = {"statement_timeout": "0"}
        if cursor.fetchone()[0] < (needed := min(kilobytes, MOST_MEMORY)):
            settings["maintenance_work_mem"] = f"{needed}kB"
            # Several workers would take it from /dev/shm, of which containers have little.
            settings["max_parallel_maintenance_workers"] = "0"
        return settings

    def _drop(self, name: str) -> None:
        with self._cursor() as cursor:
            cursor.execute(f"DROP INDEX {self._concurrently} IF EXISTS {name}")

    def _all(self) -> list[tuple[str, bool]]:
        """Return the name of each graph, and whether it is of use."""
        with self._cursor() as cursor:
            cursor.execute(GRAPHS, [TABLE, self._prefix])
            return cursor.fetchall()

    def _start(self, embedding: str, dimensions: int) -> str:
        return f"{self._prefix}{_digest(f'{embedding} {int(dimensions)}')}_"

    def _name(self, embedding: str, dimensions: int) -> str:
        shape = f"{self.shape.m}x{self.shape.ef_construction}"
        return f"{self._start(embedding, dimensions)}{shape}"

    @property
    def _concurrently(self) -> str:
        return "" if connections[self.using].in_atomic_block else "CONCURRENTLY"

    def _cursor(self):
        return connections[self.using].cursor()


def _fits(dimensions: int) -> bool:
    if dimensions <= MOST_DIMENSIONS:
        return True
    logger.warning(
        "Vectors of %d dimensions are compared one by one: a graph takes %d at most. Most "
        "embeddings can make shorter ones, by the option 'dimensions'.",
        dimensions,
        MOST_DIMENSIONS,
    )
    return False


def _kilobytes(vectors: int, dimensions: int, m: int) -> int:
    """Estimate what a build needs to keep all in memory: numbers, links, overhead."""
    return vectors * (dimensions * 2 + m * 2 * 16 + 300) // 1024 + 8_192


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
