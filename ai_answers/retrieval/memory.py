"""Vectors searched exactly, in the memory of each process, whatever the database.

Written as rows; read into one matrix an embedding, kept in step with the database. A search first
asks for the index's version; nothing new, nothing read. Otherwise the rows above the last version
are read, and after a removal the ids that are left. Other processes' writes are seen the same way.
Access tags are kept beside the rows: a chunk never changes its own, its document is written anew.
To be tested through ``DatabaseIndex``; ``vectors`` holds the arithmetic.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..exceptions import EmbeddingFailed
from ..models import IndexedVector, IndexState
from .legs import Nearest, VectorsLeg
from .vectors import Matrix

ROWS = 2000
"""Vectors read at once."""
KEPT = 2
"""Embeddings whose matrix stays in memory: while one takes over from another, both are asked."""


@dataclass(slots=True)
class _Loaded:
    """A matrix whose labels are places in ``tag_sets``."""

    matrix: Matrix = field(default_factory=Matrix.empty)
    tag_sets: list[frozenset[str]] = field(default_factory=list)
    version: int = 0
    removed: int = 0

    def append(self, ids: list[int], blobs: list[bytes], tags: Mapping[int, set[str]]) -> None:
        if len({len(blob) for blob in blobs}) > 1:
            raise EmbeddingFailed(
                "The index holds vectors of several lengths; run ai_answers_index --rebuild."
            )
        rows = np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), -1)
        known = {tag_set: label for label, tag_set in enumerate(self.tag_sets)}
        labels = [known.setdefault(frozenset(tags.get(i, ())), len(known)) for i in ids]
        # Before the rows that name them; readers go by their own matrix.
        self.tag_sets = list(known)
        # An id may come back after a rolled-back transaction; its old row must not stay.
        self.matrix = self.matrix.without(ids).with_rows(ids, rows, labels)

    def snapshot(self) -> _Loaded:
        """Return it as it is now, for a reader beside later loads."""
        return replace(self)

    def open_to(self, tags: frozenset[str]) -> np.ndarray:
        """Return for each label whether its chunks are open to one who has ``tags``."""
        return np.array([not own or not own.isdisjoint(tags) for own in self.tag_sets], bool)


class MemoryVectors(VectorsLeg):
    def __init__(self, alias: str, using: str) -> None:
        super().__init__(alias, using)
        self._loaded: dict[str, _Loaded] = {}
        self._lock = threading.Lock()

    @property
    def _vectors(self):
        return IndexedVector.objects.using(self.using).filter(index=self.alias)

    def put(
        self, chunk_ids: Sequence[int], vectors: np.ndarray, *, embedding: str, version: int
    ) -> None:
        IndexedVector.objects.using(self.using).filter(
            chunk__in=chunk_ids, embedding=embedding
        ).delete()
        IndexedVector.objects.using(self.using).bulk_create(
            IndexedVector(
                chunk_id=chunk_id,
                index=self.alias,
                embedding=embedding,
                version=version,
                vector=np.ascontiguousarray(vector, "<f4").tobytes(),
            )
            for chunk_id, vector in zip(chunk_ids, vectors, strict=True)
        )

    def remove(self, chunk_ids: Sequence[int]) -> None:
        """Nothing: the rows go with those of their chunks."""

    def keep_only(self, embedding: str) -> None:
        self._vectors.exclude(embedding=embedding)._raw_delete(self.using)

    def count(self, embedding: str) -> int:
        return self._vectors.filter(embedding=embedding).count()

    def nearest(
        self,
        query: np.ndarray,
        *,
        embedding: str,
        tags: frozenset[str],
        limit: int,
        also: Sequence[int],
    ) -> Nearest | None:
        loaded = self._as_of_now(embedding)
        matrix = loaded.matrix
        if not matrix.live:
            return None
        scores = matrix.cosines(query)
        nearest = dict(matrix.best(scores, limit, labelled=loaded.open_to(tags)))
        alive = matrix.alive(scores)
        return Nearest(
            cosines=nearest | matrix.of(scores, also),
            usual=float(alive.mean()),
            spread=float(alive.std()),
        )

    def _as_of_now(self, embedding: str) -> _Loaded:
        """Return all vectors of ``embedding`` as of now or later."""
        states = IndexState.objects.using(self.using)
        state = states.filter(index=self.alias).first() or IndexState(index=self.alias)
        with self._lock:
            loaded = self._loaded.pop(embedding, None)
            # A lower version than last time: the tables were emptied and filled again.
            if loaded is None or state.version < loaded.version:
                loaded = _Loaded()
            self._loaded[embedding] = loaded
            while len(self._loaded) > KEPT:
                del self._loaded[next(iter(self._loaded))]
            if state.version > loaded.version:
                self._load(loaded, embedding, state)
            return loaded.snapshot()

    def _load(self, loaded: _Loaded, embedding: str, state: IndexState) -> None:
        vectors = self._vectors.filter(embedding=embedding)
        if state.removed > loaded.removed and loaded.matrix.count:
            left = vectors.values_list("chunk", flat=True)
            loaded.matrix = loaded.matrix.keeping(np.fromiter(left.iterator(ROWS), np.int64))
        new = vectors.filter(version__gt=loaded.version, version__lte=state.version)
        # Tags first: what is taken out meanwhile is then lacking its vector, never its tags.
        tags: dict[int, set[str]] = {}
        tagged = new.filter(chunk__document__tags__isnull=False)
        for chunk_id, tag in tagged.values_list("chunk", "chunk__document__tags__tag").iterator():
            tags.setdefault(chunk_id, set()).add(sys.intern(tag))
        rows = new.order_by("version", "pk").values_list("chunk", "vector")
        ids, blobs = [], []
        for chunk_id, blob in rows.iterator(ROWS):
            ids.append(chunk_id)
            blobs.append(bytes(blob))
            if len(ids) == ROWS:
                loaded.append(ids, blobs, tags)
                ids, blobs = [], []
        if ids:
            loaded.append(ids, blobs, tags)
        loaded.version, loaded.removed = state.version, state.removed
