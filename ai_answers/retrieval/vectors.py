"""Exact nearest vectors, in memory: one float32 matrix an index and embedding, per process.

In: rows from the database, newer than what is loaded, each with a label. Out: chunk ids and
cosines, best first, among the rows of some labels.
Readers never wait: each works on a snapshot that later loads do not touch. Rows that went are
marked at once and taken out when they are many. No Django; feed it arrays to test it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..exceptions import EmbeddingFailed

GONE = -1
COMPACT_ABOVE = 0.2


@dataclass(frozen=True, slots=True)
class Matrix:
    """A snapshot: ``vectors[:count]`` belong to ``ids[:count]``; ``GONE`` marks dead rows.

    ``labels[:count]``: small numbers from 0, which mean something to the caller alone.
    """

    vectors: np.ndarray
    ids: np.ndarray
    labels: np.ndarray
    count: int = 0
    gone: int = 0

    @classmethod
    def empty(cls) -> Matrix:
        return cls(np.empty((0, 0), np.float32), np.empty(0, np.int64), np.empty(0, np.int32))

    @property
    def live(self) -> int:
        return self.count - self.gone

    def with_rows(
        self, ids: Sequence[int], rows: np.ndarray, labels: Sequence[int] | None = None
    ) -> Matrix:
        """Append; space is grown by half, so loading n rows one by one stays linear."""
        if self.count and rows.shape[1] != self.vectors.shape[1]:
            raise EmbeddingFailed(
                f"The embedding changed from {self.vectors.shape[1]} to {rows.shape[1]} "
                "dimensions; run ai_answers_index --rebuild."
            )
        needed = self.count + len(ids)
        vectors, all_ids, all_labels = self.vectors, self.ids, self.labels
        if needed > len(all_ids):
            space = max(needed, len(all_ids) * 3 // 2)
            vectors = np.empty((space, rows.shape[1]), np.float32)
            all_ids = np.full(space, GONE, np.int64)
            all_labels = np.zeros(space, np.int32)
            if self.count:
                vectors[: self.count] = self.vectors[: self.count]
                all_ids[: self.count] = self.ids[: self.count]
                all_labels[: self.count] = self.labels[: self.count]
        # Beyond ``count`` nobody reads yet, also when the arrays are shared.
        vectors[self.count : needed] = rows
        all_ids[self.count : needed] = ids
        all_labels[self.count : needed] = 0 if labels is None else labels
        return Matrix(vectors, all_ids, all_labels, needed, self.gone)

    def keeping(self, ids: np.ndarray) -> Matrix:
        """Take out all rows but those of ``ids``."""
        return self._with_only(np.isin(self.ids[: self.count], ids))

    def without(self, ids: Sequence[int]) -> Matrix:
        """Take out the rows of ``ids``."""
        here = self.ids[: self.count]
        return self._with_only((here != GONE) & ~np.isin(here, np.asarray(ids, np.int64)))

    def _with_only(self, kept: np.ndarray) -> Matrix:
        gone = int(self.count - kept.sum())
        if gone == self.gone:
            return self
        if gone > self.count * COMPACT_ABOVE:
            rows = np.flatnonzero(kept)
            return Matrix(self.vectors[rows], self.ids[rows], self.labels[rows], len(rows), 0)
        marked = self.ids.copy()
        marked[: self.count][~kept] = GONE
        return Matrix(self.vectors, marked, self.labels, self.count, gone)

    def cosines(self, query: np.ndarray) -> np.ndarray:
        """Return one number a row, -1 for dead ones."""
        if query.shape[0] != self.vectors.shape[1]:
            raise EmbeddingFailed(
                f"The query has {query.shape[0]} dimensions, the index {self.vectors.shape[1]}; "
                "run ai_answers_index --rebuild."
            )
        scores = self.vectors[: self.count] @ query
        if self.gone:
            scores[self.ids[: self.count] == GONE] = -1.0
        return scores

    def best(
        self, scores: np.ndarray, limit: int, *, labelled: np.ndarray | None = None
    ) -> list[tuple[int, float]]:
        """Return ids and cosines of the ``limit`` best rows, best first, ties by id.

        ``labelled``: one truth value a label; only the rows of true ones count.
        """
        ids = self.ids[: self.count]
        counts = ids != GONE
        if labelled is not None:
            counts &= labelled[self.labels[: self.count]]
        rows = np.flatnonzero(counts)
        if limit < len(rows):
            there = scores[rows]
            rows = rows[np.argpartition(there, -limit)[-limit:]] if limit > 0 else rows[:0]
        rows = rows[np.lexsort((ids[rows], -scores[rows]))]
        return [(int(ids[row]), float(scores[row])) for row in rows]

    def alive(self, scores: np.ndarray) -> np.ndarray:
        """Return the cosines without those of dead rows."""
        return scores[self.ids[: self.count] != GONE] if self.gone else scores

    def of(self, scores: np.ndarray, chunk_ids: Sequence[int]) -> dict[int, float]:
        """Return the cosines of those of ``chunk_ids`` that are here."""
        ids = self.ids[: self.count]
        rows = np.flatnonzero(np.isin(ids, np.asarray(chunk_ids, np.int64)))
        return {int(ids[row]): float(scores[row]) for row in rows}
