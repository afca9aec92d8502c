"""The index whose nearest vectors any LangChain ``VectorStore`` finds.

The bookkeeping stays in the site's own database, on every vendor Django has: documents, tags,
texts, and the vectors, so that nothing is embedded twice and a store can be filled anew. The
store only names candidates; access, texts and cosines are the database's. What a store holds
beyond that is ignored. How both stay in step is ``outside``'s.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from django.db import connections

from ..conf import import_part
from ..exceptions import ConfigurationError, EmbeddingFailed
from ..models import IndexedVector
from .access import open_to
from .base import Entry
from .database import WORDS_LEGS, DatabaseIndex
from .legs import Nearest, VectorsLeg, WordsLeg
from .memory import MemoryVectors
from .outside import (
    BATCH,
    Outside,
    Place,
    Version,
    named_rows,
    part_of_vectors,
    place_in,
)
from .settling import leaving
from .stores import Stores

ROUNDS = 6
"""Times a search asks the store for four times as many, where access takes hits away."""
SAMPLE = 1_000
"""Vectors kept in memory to know what cosine is usual."""
SAMPLE_SECONDS = 300.0


class VectorStoreIndex(DatabaseIndex):
    """``store``: ``BACKEND``, the dotted path of a ``VectorStore`` or of a function that returns
    one, and ``OPTIONS``, its arguments.

    It is called with these and with an ``embedding``, or ``embedding_function`` or ``embeddings``
    where it calls it so. It must replace what has the same id. ``{embedding}`` in an option
    stands for the embedding in use, for stores that keep one length of vectors in a collection.
    ``filter``: dotted path of ``callable(tags) -> dict``, the keyword arguments that make the
    store's own search filter by access tags, which each vector carries as ``tags`` joined by
    blanks. Without it, more is asked until there is enough.
    """

    def __init__(
        self,
        alias: str,
        *,
        embedding: str | None = None,
        store: Mapping[str, Any] | None = None,
        filter: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(alias, embedding=embedding, **options)
        setting = f"AI_ANSWERS['INDEXES'][{alias!r}]"
        if not embedding:
            raise ConfigurationError(f"{setting}: VectorStoreIndex needs an EMBEDDING.")
        if not isinstance(store, Mapping) or "BACKEND" not in store:
            raise ConfigurationError(
                f"{setting}: OPTIONS needs 'store', a dict with BACKEND and OPTIONS, not {store!r}."
            )
        self.stores = Stores(store, setting=setting, embedding=embedding)
        self.filter = import_part(filter, setting=setting) if filter else None

    def default_words(self, using: str) -> WordsLeg | None:
        leg = WORDS_LEGS.get(connections[using].vendor)
        return leg(using) if leg else None

    def make_vectors(self, using: str) -> VectorsLeg:
        return StoreVectors(self.alias, using, self.stores, self.filter)


class StoreVectors(MemoryVectors, Outside):
    """Rows in the database, candidates from the store."""

    kind = "vectors"

    def __init__(
        self,
        alias: str,
        using: str,
        stores: Stores,
        filter_: Callable[[frozenset[str]], Mapping[str, Any]] | None,
    ) -> None:
        super().__init__(alias, using)
        self.stores = stores
        self.filter = filter_
        self._samples: dict[str, tuple[float, np.ndarray]] = {}

    def part_of(self, entry: Entry) -> str:
        return "" if entry.vectors is None else part_of_vectors(entry.stored.embedding)

    def send(self, index: str, entries: Sequence[Entry]) -> None:
        self.stores.send(index, entries)

    def withdraw(self, index: str, part: str, places: Sequence[Place]) -> None:
        self.stores.withdraw(index, part.removeprefix(part_of_vectors("")), places)

    def here(self, index: str, part: str, versions: Iterable[Version]) -> set[Version]:
        ids = list({version.entity_id for version in versions})
        rows = self._vectors.filter(embedding=part.removeprefix(part_of_vectors("")))
        fields = [f"chunk__document__{name}" for name in Version._fields]
        found: set[Version] = set()
        for start in range(0, len(ids), BATCH):
            some = rows.filter(chunk__document__entity_id__in=ids[start : start + BATCH])
            found |= {Version(*row) for row in some.values_list(*fields).distinct()}
        return found

    def remove(self, chunk_ids: Sequence[int]) -> None:
        leaving(self, self.alias, self._vectors.filter(chunk__in=chunk_ids))

    def keep_only(self, embedding: str) -> None:
        leaving(self, self.alias, self._vectors.exclude(embedding=embedding))
        super().keep_only(embedding)

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
        if not len(sample):
            return None
        if sample.shape[1] != len(query):
            raise EmbeddingFailed(
                f"The query has {len(query)} dimensions, the index {sample.shape[1]}; "
                "run ai_answers_index --rebuild."
            )
        filtering = dict(self.filter(tags)) if self.filter else {}
        wanted = limit
        for _ in range(ROUNDS):
            ask = partial(self.stores.search, embedding, query.tolist(), limit=wanted, **filtering)
            named, rows = named_rows(self.using, self.alias, ask, place_of=place_in)
            chunk_ids = list(rows.values())
            is_open = open_to(self.using, chunk_ids, tags)
            nearest = [chunk_id for chunk_id in chunk_ids if chunk_id in is_open][:limit]
            if len(nearest) >= limit or len(named) < wanted:
                break
            wanted *= 4
        usual = sample @ query
        return Nearest(
            cosines=self._cosines({*nearest, *also}, query, embedding),
            usual=float(usual.mean()),
            spread=float(usual.std()),
        )

    def _cosines(self, chunk_ids: set[int], query, embedding: str) -> dict[int, float]:
        cosines: dict[int, float] = {}
        ids = sorted(chunk_ids)
        for start in range(0, len(ids), BATCH):
            rows = self._vectors.filter(chunk__in=ids[start : start + BATCH], embedding=embedding)
            for chunk_id, blob in rows.values_list("chunk", "vector"):
                cosines[chunk_id] = float(np.frombuffer(bytes(blob), "<f4") @ query)
        return cosines

    def _sample(self, embedding: str) -> np.ndarray:
        with self._lock:
            taken_at, sample = self._samples.get(embedding, (0.0, np.empty((0, 0))))
            grown = len(sample) < SAMPLE and self.count(embedding) != len(sample)
            if grown or time.monotonic() - taken_at > SAMPLE_SECONDS:
                sample = self._take_sample(embedding)
                self._samples[embedding] = (time.monotonic(), sample)
            return sample

    def _take_sample(self, embedding: str) -> np.ndarray:
        """Return vectors spread evenly over all."""
        rows: Any = IndexedVector.objects.using(self.using)
        rows = rows.filter(index=self.alias, embedding=embedding).order_by("chunk")
        ids = list(rows.values_list("pk", flat=True))
        ids = ids[:: max(len(ids) // SAMPLE, 1)][:SAMPLE]
        blobs = [
            bytes(blob)
            for start in range(0, len(ids), BATCH)
            for blob in rows.filter(pk__in=ids[start : start + BATCH]).values_list(
                "vector", flat=True
            )
        ]
        if len({len(blob) for blob in blobs}) > 1:
            raise EmbeddingFailed(
                "The index holds vectors of several lengths; run ai_answers_index --rebuild."
            )
        if not blobs:
            return np.empty((0, 0), np.float32)
        return np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), -1)
