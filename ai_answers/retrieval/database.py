"""The index in the site's own database: full text, and vectors where an embedding is set.

In: entries from ``indexing``, queries from ``searching``. Out: hits. The rows are ``tables``'; what
words and vectors are kept in is a pair of ``legs``: the vendor's full text, and vectors searched
in memory. A setting may name another leg for words, a subclass bring others. Any process may
write; the others notice at their next search. On a database without full text of ours it raises
``ConfigurationError``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import connections, router

from ..conf import app_settings, import_part, make_part
from ..exceptions import ConfigurationError, EmbeddingFailed, RetrievalError
from ..models import IndexedChunk, IndexedDocument, IndexState
from ..values import Hit, ObjectKey
from .base import Entry, Index, Stats, Stored
from .embeddings import embed_query, embedding_identity
from .fusion import WORDS, fuse
from .legs import Nearest, Ranked, VectorsLeg, WordsLeg
from .memory import MemoryVectors
from .postgres import PostgresWords
from .resending import resend
from .settling import sent_before, tidy
from .sqlite import SqliteWords
from .tables import Tables
from .trying import Resting
from .words import is_in_languages, primary_of, query_words

logger = logging.getLogger(__name__)

POOL = 100
"""Chunks each leg hands to the fusion, at least."""
FOREIGN = 0.5
"""Share of their weight that words have in a language in which nothing is indexed."""
TRIES = 3
"""Times a search begins anew when the index changes under it."""
WORDS_LEGS: dict[str, type[WordsLeg]] = {"sqlite": SqliteWords, "postgresql": PostgresWords}
"""Full text by the vendor of the database."""
TIDY_SECONDS = 600.0
"""How often a process that writes looks for what was left on other servers."""


class DatabaseIndex(Index):
    """``words_weight``: what the words count in the fusion, from 0 to 1; the vectors the rest.

    ``words``: another leg for words than the database's full text, as ``BACKEND`` (dotted path of
    a ``WordsLeg``) and ``OPTIONS``.
    """

    def __init__(
        self,
        alias: str,
        *,
        embedding: str | None = None,
        words_weight: float = WORDS,
        words: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(alias, embedding=embedding)
        if not isinstance(words_weight, int | float) or not 0 <= words_weight <= 1:
            raise ConfigurationError(
                f"AI_ANSWERS['INDEXES'][{alias!r}]: words_weight must be from 0 to 1, "
                f"not {words_weight!r}."
            )
        if words is not None and (not isinstance(words, Mapping) or "BACKEND" not in words):
            raise ConfigurationError(
                f"AI_ANSWERS['INDEXES'][{alias!r}]: 'words' must be a dict with BACKEND and "
                f"OPTIONS, not {words!r}."
            )
        self.words_weight = words_weight
        self.words = words
        self._tidied_at = time.monotonic()
        self._tables_by_database: dict[str, Tables] = {}

    def make_words(self, using: str) -> WordsLeg | None:
        """Return the leg for words in the database ``using``; ``None``: vectors alone."""
        if self.words is None:
            return self.default_words(using)
        setting = f"AI_ANSWERS['INDEXES'][{self.alias!r}]['OPTIONS']['words']"
        path = self.words["BACKEND"]
        backend = import_part(path, setting=setting)
        if not (isinstance(backend, type) and issubclass(backend, WordsLeg)):
            raise ConfigurationError(
                f"{setting} names {path!r}, which is no subclass of "
                "ai_answers.retrieval.legs.WordsLeg."
            )
        return make_part(path, using, setting=setting, options=self.words.get("OPTIONS", {}))

    def default_words(self, using: str) -> WordsLeg | None:
        """Return the leg for words where the settings name none."""
        vendor = connections[using].vendor
        if vendor not in WORDS_LEGS:
            raise ConfigurationError(
                f"AI_ANSWERS['INDEXES'][{self.alias!r}]: {type(self).__name__} works on "
                f"{' and '.join(WORDS_LEGS)}, not on {vendor!r}, which database {using!r} is; "
                "set BACKEND to 'ai_answers.retrieval.vector_store.VectorStoreIndex', or name "
                "another leg for 'words' in OPTIONS."
            )
        return WORDS_LEGS[vendor](using)

    def make_vectors(self, using: str) -> VectorsLeg:
        """Return the leg for vectors; called for an index without embedding, too."""
        return MemoryVectors(self.alias, using)

    def put(self, entries: Iterable[Entry]) -> None:
        if entries := list(entries):
            tables = self.tables(writing=True)
            with sent_before(self.alias, tables.outside, entries):
                tables.put(entries)
            if tables.outside and time.monotonic() > self._tidied_at + TIDY_SECONDS:
                self._tidy(tables)

    def remove(self, keys: Iterable[ObjectKey]) -> int:
        return self.tables(writing=True).remove([(key, None) for key in keys])

    def remove_documents(self, documents: Iterable[tuple[ObjectKey, str]]) -> int:
        return self.tables(writing=True).remove(list(documents))

    def clear(self, entity_type: str | None = None) -> None:
        tables = self.tables(writing=True)
        tables.clear(entity_type)
        self._tidy(tables)

    def finish(self) -> None:
        tables = self.tables(writing=True)
        tables.finish(embedding_identity(self.embedding))
        self._tidy(tables)

    def fill(self) -> int:
        """Send all again to the servers that keep a part of it, as for a new or a lost one.

        Nothing is embedded. Returns how many chunks were sent. Raises ``RetrievalError``.
        """
        tables = self.tables(writing=True)
        return resend(self.alias, tables.using, tables.outside)

    def _tidy(self, tables: Tables) -> None:
        self._tidied_at = time.monotonic()
        tidy(self.alias, tables.outside)

    def stored(
        self, entity_type: str, ids: Iterable[str] | None = None
    ) -> dict[tuple[str, str], Stored]:
        return self.tables(writing=True).stored(entity_type, ids)

    def entity_types(self) -> set[str]:
        names = self.tables().documents.values_list("entity_type", flat=True)
        return set(names.order_by().distinct())

    def stats(self) -> Stats:
        tables, embedding = self.tables(), embedding_identity(self.embedding)
        chunks = IndexedChunk.objects.using(tables.using).filter(document__index=self.alias)
        return Stats(
            documents=tables.documents.count(),
            chunks=chunks.count(),
            vectors=tables.vectors.count(embedding) if embedding and tables.vectors else 0,
        )

    def outdated(self, entity_type: str, *, fingerprint: str, embedding: str) -> int:
        tables = self.tables()
        documents = tables.documents.filter(entity_type=entity_type)
        here = documents.filter(fingerprint=fingerprint, embedding=tables.mark(embedding))
        return documents.count() - here.count()

    def search(
        self, query: str, *, tags: frozenset[str], limit: int, language: str = ""
    ) -> list[Hit]:
        tables = self.tables()
        for _ in range(TRIES):
            state = tables.state()
            if not state.version:
                return []
            hits, is_whole = self._search(
                tables, state, query, tags=tags, limit=limit, language=language
            )
            # Between two statements a document may have been written anew, or another embedding
            # have taken over. The next try sees what came in its place.
            if is_whole or tables.state().version == state.version:
                break
        return hits

    def _search(
        self, tables: Tables, state: IndexState, query: str, *, tags, limit: int, language: str
    ) -> tuple[list[Hit], bool]:
        """Return the hits, and whether all that was ranked is still there."""
        pool = max(limit, POOL) if self.embedding else limit
        ranked = self._rank(tables, state, query, tags=tags, limit=pool, language=language)
        if ranked is None:
            return [], True
        nearest = self._nearest(tables, state, query, tags=tags, limit=pool, also=[*ranked.scores])
        scores = {"bm25": ranked.scores}
        if nearest is None:
            if ranked.failure:
                raise ranked.failure
            ranking = list(ranked.scores.items())[:limit]
            hits = _hits(tables, ranking, "bm25", scores)
            return hits, len(hits) == len(ranking) and self._serving(state) is None
        weight = 0.0 if ranked.failure else self._weight(tables, state, query, language)
        fused = fuse(ranked, nearest, words=weight)
        kind = "vectors" if ranked.failure else "fused"
        scores |= {"cosine": nearest.cosines, kind: dict(fused)}
        hits = _hits(tables, fused[:limit], kind, scores)
        return hits, len(hits) == len(fused[:limit])

    def _weight(self, tables: Tables, state: IndexState, query: str, language: str) -> float:
        """Return what the words count for this query."""
        if tables.words is None:
            return 0.0
        # Words of another language match names at best.
        is_known = is_in_languages(query, state.languages, language)
        return self.words_weight * (1.0 if is_known else FOREIGN)

    def _rank(self, tables, state, query, *, tags, limit, language) -> Ranked | None:
        """Rank by words; ``None`` for a query without any."""
        words = query_words(query, state.languages, language)
        if not words:
            return None
        if tables.words is None:
            return Ranked(scores={}, ideal=0.0)
        # Words of a language that is not indexed are unknown, not misspelt.
        may_respell = is_in_languages(query, state.languages, language)
        try:
            return tables.words.search(
                words,
                index=self.alias,
                tags=tags,
                limit=limit,
                respell_in=sorted(set(map(primary_of, state.languages))) if may_respell else (),
            )
        except RetrievalError as error:
            _warn("vectors", self.alias, error)
            return Ranked(scores={}, ideal=0.0, failure=error)

    def _nearest(self, tables, state, query, *, tags, limit, also) -> Nearest | None:
        """Rank by vectors; ``None`` where there are none or the embedding fails."""
        alias = self._serving(state)
        if alias is None or tables.vectors is None:
            return None
        try:
            return tables.vectors.nearest(
                embed_query(alias, query),
                embedding=state.embedding,
                tags=tags,
                limit=limit,
                also=also,
            )
        except EmbeddingFailed as error:
            if tables.words is None:
                raise
            _warn("words", self.alias, error)
            return None

    def _serving(self, state: IndexState) -> str | None:
        """Return the alias of the embedding that searches use.

        After a change of ``EMBEDDING`` that is the one before, if its alias is still in settings,
        until all documents have their new vectors.
        """
        if not self.embedding or not state.embedding:
            return None
        aliases = [self.embedding, *(a for a in app_settings().EMBEDDINGS if a != self.embedding)]
        return next((a for a in aliases if embedding_identity(a) == state.embedding), None)

    def tables(self, *, writing: bool = False) -> Tables:
        """Return the rows in the database that the site's routers name."""
        using = (router.db_for_write if writing else router.db_for_read)(IndexedDocument)
        found = self._tables_by_database.get(using)
        if found is None:
            found = self._tables_by_database[using] = Tables(
                self.alias, using, words=self.make_words(using), vectors=self.make_vectors(using)
            )
        return found


def _warn(left: str, alias: str, error: RetrievalError) -> None:
    """Say that the other leg failed; once a failure, not for each search while it is left alone."""
    level = logging.INFO if isinstance(error.__cause__, Resting) else logging.WARNING
    logger.log(level, "Searching index %r by %s alone: %s", alias, left, error)
    logger.debug("A leg of the index failed.", exc_info=True)


def _hits(
    tables: Tables,
    ranking: Sequence[tuple[int, float]],
    kind: str,
    scores: Mapping[str, Mapping[int, float]],
) -> list[Hit]:
    chunks = tables.chunks([chunk_id for chunk_id, _ in ranking])
    return [
        Hit(
            chunk=chunks[chunk_id],
            score=score,
            score_kind=kind,
            scores={name: by_id[chunk_id] for name, by_id in scores.items() if chunk_id in by_id},
        )
        for chunk_id, score in ranking
        if chunk_id in chunks
    ]
