"""The index in the site's own database: full text, and vectors where an embedding is set.

In: entries from ``indexing``, queries from ``searching``. Out: hits. The rows are ``tables``',
the words are kept by the vendor's full text (``sqlite``), the vectors are searched in memory
(``loading``). Any process may write; the others notice at their next search.
On a database other than SQLite it raises ``ConfigurationError``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.db import connections, router

from ..exceptions import ConfigurationError, EmbeddingFailed
from ..models import IndexedChunk, IndexedDocument, IndexedVector
from ..values import Hit, ObjectKey
from .base import Entry, Index, Stats, Stored
from .embeddings import embed_query, embedding_identity
from .fusion import fuse
from .loading import VectorLoader
from .sqlite import FullText
from .tables import BATCH, Tables
from .words import is_in_languages, primary_of, query_words

logger = logging.getLogger(__name__)

POOL = 100
"""Chunks each leg hands to the fusion, at least."""


class DatabaseIndex(Index):
    """Takes no ``OPTIONS``."""

    def __init__(self, alias: str, *, embedding: str | None = None) -> None:
        super().__init__(alias, embedding=embedding)
        self._loader = VectorLoader(alias)

    def put(self, entries: Iterable[Entry]) -> None:
        if entries := list(entries):
            self._tables(writing=True).put(entries)

    def remove(self, keys: Iterable[ObjectKey]) -> int:
        return self._tables(writing=True).remove([(key, None) for key in keys])

    def remove_documents(self, documents: Iterable[tuple[ObjectKey, str]]) -> int:
        return self._tables(writing=True).remove(list(documents))

    def clear(self, entity_type: str | None = None) -> None:
        self._tables(writing=True).clear(entity_type)

    def stored(
        self, entity_type: str, ids: Iterable[str] | None = None
    ) -> dict[tuple[str, str], Stored]:
        return self._tables(writing=True).stored(entity_type, ids)

    def entity_types(self) -> set[str]:
        names = self._tables().documents.values_list("entity_type", flat=True)
        return set(names.order_by().distinct())

    def stats(self) -> Stats:
        tables, embedding = self._tables(), embedding_identity(self.embedding)
        chunks = IndexedChunk.objects.using(tables.using).filter(document__index=self.alias)
        vectors = IndexedVector.objects.using(tables.using).filter(index=self.alias)
        return Stats(
            documents=tables.documents.count(),
            chunks=chunks.count(),
            vectors=vectors.filter(embedding=embedding).count(),
        )

    def outdated(self, *, fingerprint: str, embedding: str) -> int:
        return (
            self._tables().documents.exclude(fingerprint=fingerprint, embedding=embedding).count()
        )

    def search(
        self, query: str, *, tags: frozenset[str], limit: int, language: str = ""
    ) -> list[Hit]:
        tables = self._tables()
        state = tables.state()
        words = query_words(query, state.languages, language)
        if not words or not state.version:
            return []
        # Words of a language that is not indexed are unknown, not misspelt.
        may_respell = is_in_languages(query, state.languages, language)
        pool = max(limit, POOL) if self.embedding else limit
        lexical, ideal = tables.fulltext.search(
            words,
            index=self.alias,
            tags=tags,
            limit=pool,
            respell_in=sorted(set(map(primary_of, state.languages))) if may_respell else (),
        )
        if not self.embedding:
            return _hits(tables, lexical, "bm25")
        meaning = self._nearest(tables, query, tags=tags, limit=pool, also=[i for i, _ in lexical])
        fused = fuse(dict(lexical), ideal, *meaning)
        return _hits(tables, fused[:limit], "fused")

    def _nearest(self, tables, query, *, tags, limit, also):
        """Return the cosines of the nearest chunks and of ``also``, and of all as one array."""
        matrix = self._loader.matrix(
            tables.using, embedding_identity(self.embedding), tables.state()
        )
        if not matrix.live:
            return {}, None
        try:
            scores = matrix.cosines(embed_query(self.embedding, query))
        except EmbeddingFailed:
            logger.warning("Searching %r by words alone.", self.alias, exc_info=True)
            return {}, None
        nearest: dict[int, float] = {}
        asked = 0
        while len(nearest) < limit and asked < matrix.live:
            best = matrix.best(scores, max(asked * 4, limit))
            new = best[asked:]
            for start in range(0, len(new), BATCH):
                ids = [chunk_id for chunk_id, _ in new[start : start + BATCH]]
                is_open = tables.open_to(ids, tags)
                nearest |= {i: s for i, s in new[start : start + BATCH] if i in is_open}
            asked = len(best)
        nearest = dict(sorted(nearest.items(), key=lambda pair: -pair[1])[:limit])
        return nearest | matrix.of(scores, also), matrix.alive(scores)

    def _tables(self, *, writing: bool = False) -> Tables:
        using = (router.db_for_write if writing else router.db_for_read)(IndexedDocument)
        vendor = connections[using].vendor
        if vendor != "sqlite":
            raise ConfigurationError(
                f"AI_ANSWERS['INDEXES'][{self.alias!r}]: DatabaseIndex works on SQLite, "
                f"not on {vendor!r}, which database {using!r} is."
            )
        return Tables(self.alias, using, FullText(using))


def _hits(tables: Tables, scores: list[tuple[int, float]], kind: str) -> list[Hit]:
    # A chunk replaced since it was found is left out; its successor comes with the next search.
    chunks = tables.chunks([chunk_id for chunk_id, _ in scores])
    return [
        Hit(chunk=chunks[chunk_id], score=score, score_kind=kind)
        for chunk_id, score in scores
        if chunk_id in chunks
    ]
