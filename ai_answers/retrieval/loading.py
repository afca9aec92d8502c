"""Keeping the vectors of an index in memory in step with the database.

One matrix an embedding and process. A search first asks for the version; nothing new, nothing
read. Otherwise the rows above the last version are read, and after a removal the ids that are
left. Other processes' writes are seen the same way. To be tested through ``DatabaseIndex``.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np

from ..exceptions import EmbeddingFailed
from ..models import IndexedVector, IndexState
from .vectors import Matrix

ROWS = 2000
"""Vectors read at once."""


@dataclass(slots=True)
class _Loaded:
    matrix: Matrix = field(default_factory=Matrix.empty)
    version: int = 0
    removed: int = 0


class VectorLoader:
    def __init__(self, alias: str) -> None:
        self.alias = alias
        self._loaded: dict[tuple[str, str], _Loaded] = {}
        self._lock = threading.Lock()

    def matrix(self, using: str, embedding: str, state: IndexState) -> Matrix:
        """Return all vectors of ``embedding`` as of ``state`` or later."""
        with self._lock:
            loaded = self._loaded.get((using, embedding))
            # A lower version than last time: the tables were emptied and filled again.
            if loaded is None or state.version < loaded.version:
                # Only one is kept: after a change of the embedding nobody asks for the old one.
                loaded = _Loaded()
                self._loaded = {(using, embedding): loaded}
            if state.version > loaded.version:
                self._load(loaded, using, embedding, state)
            return loaded.matrix

    def _load(self, loaded: _Loaded, using: str, embedding: str, state: IndexState) -> None:
        vectors = IndexedVector.objects.using(using).filter(index=self.alias, embedding=embedding)
        matrix, version = loaded.matrix, loaded.version
        if state.removed > loaded.removed and matrix.count:
            left = vectors.values_list("pk", flat=True)
            matrix = matrix.keeping(np.fromiter(left.iterator(ROWS), np.int64))
        new = vectors.filter(version__gt=version, version__lte=state.version)
        rows = new.order_by("version", "pk").values_list("pk", "vector")
        ids, blobs = [], []
        for pk, blob in rows.iterator(ROWS):
            ids.append(pk)
            blobs.append(bytes(blob))
            if len(ids) == ROWS:
                matrix = _appended(matrix, ids, blobs)
                ids, blobs = [], []
        if ids:
            matrix = _appended(matrix, ids, blobs)
        loaded.matrix, loaded.version, loaded.removed = matrix, state.version, state.removed


def _appended(matrix: Matrix, ids: list[int], blobs: list[bytes]) -> Matrix:
    if len({len(blob) for blob in blobs}) > 1:
        raise EmbeddingFailed(
            "The index holds vectors of several lengths; run ai_answers_index --rebuild."
        )
    rows = np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), -1)
    # An id may come back after a rolled-back transaction; its old row must not stay.
    return matrix.without(ids).with_rows(ids, rows)
