"""The index whose nearest vectors any LangChain ``VectorStore`` finds.

The bookkeeping stays in the site's own database, on every vendor Django has: documents, tags,
texts, and the vectors, so that nothing is embedded twice and a store can be filled anew. The
store only names candidates; access, texts and cosines are the database's. What a store holds
beyond that is ignored.

A document is written to the store before the database and its old chunks are taken out after, so
no transaction waits for another server, and a search meanwhile sees the old or the new document.
What a crash in between leaves in the store matches no row. ``fill`` sends all again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from django.db import connections

from ..conf import import_part
from ..exceptions import ConfigurationError, EmbeddingFailed
from ..models import IndexedChunk, IndexedVector
from ..values import ObjectKey
from .base import Entry
from .database import WORDS_LEGS, DatabaseIndex
from .embeddings import embedding_identity
from .legs import Nearest, VectorsLeg, WordsLeg
from .memory import BATCH, MemoryVectors
from .stores import NAMES, Place, Stores, store_id

ROUNDS = 6
"""Times a search asks the store for four times as many, where access takes hits away."""
SAMPLE = 1_000
"""Vectors kept in memory to know what cosine is usual."""
SAMPLE_SECONDS = 300.0


class VectorStoreIndex(DatabaseIndex):
    """``store``: ``BACKEND`` (dotted path of a ``VectorStore``) and ``OPTIONS`` of its constructor.

    The store is made with ``embedding=`` or, if its constructor calls it so,
    ``embedding_function=``. ``{embedding}`` in an option stands for the embedding in use, for
    stores that keep one length of vectors in a collection. ``filter``: dotted path of
    ``callable(tags) -> dict``, the keyword arguments that make the store's own search filter by
    access tags, which each vector carries as ``tags`` joined by blanks. Without it, more is asked
    until there is enough.
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
        if not store or "BACKEND" not in store:
            raise ConfigurationError(
                f"{setting}: OPTIONS needs 'store', a dict with BACKEND and OPTIONS, not {store!r}."
            )
        self.stores = Stores(store, setting=setting)
        self.filter = import_part(filter, setting=setting) if filter else None

    def make_words(self, using: str) -> WordsLeg | None:
        leg = WORDS_LEGS.get(connections[using].vendor)
        return leg(using) if leg else None

    def make_vectors(self, using: str) -> VectorsLeg:
        return StoreVectors(self.alias, using, self.stores, self.filter)

    def put(self, entries: Iterable[Entry]) -> None:
        entries = list(entries)
        places = [(entry.document.key, entry.document.language) for entry in entries]
        before = self._ids(places)
        for entry in entries:
            if entry.vectors is not None and len(entry.chunks):
                self.stores.add(self.alias, entry)
        super().put(entries)
        now = self._ids(places)
        self.stores.delete({e: ids - now.get(e, set()) for e, ids in before.items()})

    def remove(self, keys: Iterable[ObjectKey]) -> int:
        return self._remove([(key, None) for key in keys])

    def remove_documents(self, documents: Iterable[tuple[ObjectKey, str]]) -> int:
        return self._remove(list(documents))

    def clear(self, entity_type: str | None = None) -> None:
        tables = self.tables(writing=True)
        rows = tables.documents
        if entity_type is not None:
            rows = rows.filter(entity_type=entity_type)
        ids = self._ids_of(rows.values("pk"))
        super().clear(entity_type)
        self.stores.delete(ids)

    def finish(self) -> None:
        current = embedding_identity(self.embedding)
        old = self._ids_of(self.tables(writing=True).documents.values("pk"))
        old.pop(current, None)
        super().finish()
        self.stores.delete(old)

    def fill(self) -> int:
        """Send all vectors to the store again, as for a new or a lost one; return how many."""
        tables = self.tables(writing=True)
        rows = IndexedVector.objects.using(tables.using).filter(index=self.alias)
        rows = rows.select_related("chunk__document").order_by("pk").iterator(BATCH)
        count = 0
        while batch := list(islice(rows, BATCH)):
            for embedding in {row.embedding for row in batch}:
                mine = [row for row in batch if row.embedding == embedding]
                self.stores.write(
                    embedding,
                    [_place(row.chunk) for row in mine],
                    [row.chunk.text for row in mine],
                    np.vstack([np.frombuffer(bytes(row.vector), "<f4") for row in mine]),
                    self.alias,
                    tags=[_tags(row.chunk.document) for row in mine],
                )
            count += len(batch)
        return count

    def _remove(self, places: list[tuple[ObjectKey, str | None]]) -> int:
        ids = self._ids(places)
        removed = self.tables(writing=True).remove(places)
        self.stores.delete(ids)
        return removed

    def _ids(self, places: list[tuple[ObjectKey, str | None]]) -> dict[str, set[str]]:
        return self._ids_of(self.tables(writing=True).find(places))

    def _ids_of(self, documents: Any) -> dict[str, set[str]]:
        """Return the store's ids of all chunks of ``documents``, by embedding."""
        rows = IndexedVector.objects.using(self.tables(writing=True).using)
        found: dict[str, set[str]] = {}
        for row in (
            rows.filter(index=self.alias, chunk__document__in=documents)
            .select_related("chunk__document")
            .defer("vector", "chunk__text")
            .iterator(BATCH)
        ):
            found.setdefault(row.embedding, set()).add(
                store_id(self.alias, row.embedding, _place(row.chunk))
            )
        return found


class StoreVectors(MemoryVectors):
    """Rows in the database, candidates from the store."""

    def __init__(self, alias: str, using: str, stores: Stores, filter_: Any) -> None:
        super().__init__(alias, using)
        self.stores = stores
        self.filter = filter_
        self._samples: dict[str, tuple[float, np.ndarray]] = {}

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
            named = self.stores.search(embedding, query, limit=wanted, **filtering)
            chunk_ids = self._rows(named)
            is_open = self._open_to(chunk_ids, tags)
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

    def _rows(self, named: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return the ids of the chunks the store named that are here just so, in its order."""
        places = [tuple(metadata.get(name) for name in NAMES) for metadata in named]
        found: dict[Place, int] = {}
        for start in range(0, len(places), BATCH):
            some = places[start : start + BATCH]
            rows = IndexedChunk.objects.using(self.using).filter(
                document__index=self.alias,
                document__entity_type__in={place[0] for place in some},
                document__entity_id__in={place[1] for place in some},
                position__in={place[5] for place in some},
            )
            rows = rows.select_related("document").defer("text")
            found |= {_place(row): row.pk for row in rows}
        return list(dict.fromkeys(found[place] for place in places if place in found))

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
            if not len(sample) or time.monotonic() - taken_at > SAMPLE_SECONDS:
                rows = self._vectors.filter(embedding=embedding).order_by("chunk")
                ids = list(rows.values_list("pk", flat=True))
                ids = ids[:: max(len(ids) // SAMPLE, 1)][:SAMPLE]
                blobs = [
                    bytes(blob)
                    for start in range(0, len(ids), BATCH)
                    for blob in rows.filter(pk__in=ids[start : start + BATCH]).values_list(
                        "vector", flat=True
                    )
                ]
                sample = np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), -1)
                self._samples[embedding] = (time.monotonic(), sample)
            return sample


def _place(chunk: IndexedChunk) -> Place:
    document = chunk.document
    return (
        document.entity_type,
        document.entity_id,
        document.language,
        document.checksum,
        document.fingerprint,
        chunk.position,
    )


def _tags(document: Any) -> str:
    return " ".join(sorted(document.tags.values_list("tag", flat=True)))
