"""A few vectors in memory that stand for all of them: what cosine is usual, how many are open.

The same ones in every process, picked by a hash of their chunk's id, so that scores do not depend
on where a search runs. Up to ``SAMPLE`` vectors all are taken, anew after each write; of more one
in so many, and anew after ``SECONDS`` where something was written. Memory: 4 bytes a number, which
is 1.5 MB for each embedding of 384 numbers, 6 MB of 1,536. To be tested through ``leg``.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import numpy as np
from django.db import connections

from ...models import IndexState
from .graph import TABLE, Graphs, rows_of

SAMPLE = 1_000
"""Vectors of a sample, at most or about."""
SECONDS = 60.0
"""After which a sample of many is taken anew."""
KEPT = 2
"""Samples that stay: while one embedding takes over from another, both are asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    vectors: np.ndarray
    tags: list[frozenset[str] | None]
    """Of each vector's document; ``None``: open to everyone."""
    total: int
    """Vectors there were when it was taken."""
    has_graph: bool
    version: int
    taken_at: float

    def open_to(self, tags: frozenset[str]) -> float:
        """Estimate how many vectors are open to ``tags``."""
        found = sum(own is None or not tags.isdisjoint(own) for own in self.tags)
        return self.total * found / len(self.tags)

    def is_fresh(self, version: int) -> bool:
        if version == self.version:
            return True
        return self.total > SAMPLE and time.monotonic() < self.taken_at + SECONDS


class Samples:
    """The samples of index ``alias`` in the database ``using``."""

    def __init__(self, alias: str, using: str, graphs: Graphs) -> None:
        self.alias = alias
        self.using = using
        self.graphs = graphs
        self._kept: dict[tuple[str, int], Sample] = {}
        self._lock = threading.Lock()

    def get(self, embedding: str, dimensions: int) -> Sample | None:
        """Return a sample of the vectors of that length; ``None`` when there are none."""
        states = IndexState.objects.using(self.using).filter(index=self.alias)
        version = states.values_list("version", flat=True).first() or 0
        with self._lock:
            key = embedding, dimensions
            kept = self._kept.pop(key, None)
            if kept is None or not kept.is_fresh(version):
                kept = self._take(embedding, dimensions, version)
            if kept is not None:
                self._kept[key] = kept
            while len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]
            return kept

    def forget(self) -> None:
        with self._lock:
            self._kept.clear()

    def _take(self, embedding: str, dimensions: int, version: int) -> Sample | None:
        # Without parameters, so that a % in the name of an index is one.
        rows = rows_of(self.alias, embedding, dimensions)
        with connections[self.using].cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {TABLE} WHERE {rows}")  # noqa: S608
            total = cursor.fetchone()[0]
            every = max(-(-total // SAMPLE), 1)
            cursor.execute(
                f"SELECT tags, vector::text FROM {TABLE} "  # noqa: S608
                f"WHERE {rows} AND hashint8(chunk_id) % {every} = 0 ORDER BY chunk_id"
            )
            found = cursor.fetchall()
        if not found:
            return None
        numbers = np.fromstring(",".join(text[1:-1] for _, text in found), np.float32, sep=",")
        return Sample(
            vectors=numbers.reshape(len(found), dimensions),
            tags=[None if tags is None else frozenset(tags) for tags, _ in found],
            total=total,
            has_graph=self.graphs.is_there(embedding, dimensions),
            version=version,
            taken_at=time.monotonic(),
        )
