"""Writing and reading the rows of one ``DatabaseIndex``, whatever the database.

Every write is one short transaction over documents, tags, chunks, words and vectors, and counts
the index's version up. To be tested through ``DatabaseIndex``.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import numpy as np
from django.db import transaction
from django.db.models import BigIntegerField, F, Value
from django.db.models.functions import Greatest

from ..models import IndexedChunk, IndexedDocument, IndexedTag, IndexedVector, IndexState
from ..values import Chunk, ObjectKey
from .base import Entry, Stored
from .sqlite import FullText
from .words import words_of

BATCH = 500
"""Values in one ``IN``: every database takes that many."""


class Tables:
    """The rows of index ``alias`` in the database ``using``."""

    def __init__(self, alias: str, using: str, fulltext: FullText) -> None:
        self.alias = alias
        self.using = using
        self.fulltext = fulltext

    @property
    def documents(self):
        return IndexedDocument.objects.using(self.using).filter(index=self.alias)

    def state(self) -> IndexState:
        """Return the index's counters; an unsaved row when nothing was ever written."""
        states = IndexState.objects.using(self.using)
        return states.filter(index=self.alias).first() or IndexState(index=self.alias)

    def put(self, entries: Sequence[Entry]) -> None:
        with transaction.atomic(using=self.using):
            places = [(entry.document.key, entry.document.language) for entry in entries]
            version = self._count_up({language for _, language in places})
            self._take_out(self.find(places), version)
            for entry in entries:
                self._insert(entry, version)

    def remove(self, places: Sequence[tuple[ObjectKey, str | None]]) -> int:
        """Take documents out; the language ``None`` stands for all languages of an object."""
        removed = 0
        for start in range(0, len(places), BATCH):
            with transaction.atomic(using=self.using):
                version = self._count_up()
                removed += self._take_out(self.find(places[start : start + BATCH]), version)
        return removed

    def clear(self, entity_type: str | None) -> None:
        rows = self.documents
        if entity_type is not None:
            rows = rows.filter(entity_type=entity_type)
        while ids := list(rows.values_list("pk", flat=True)[:BATCH]):
            with transaction.atomic(using=self.using):
                self._take_out(ids, self._count_up())
        self.fulltext.remove_orphans()

    def find(self, places: Iterable[tuple[ObjectKey, str | None]]) -> list[int]:
        """Return the primary keys of those documents that are here."""
        wanted: dict[str, dict[str, set[str | None]]] = {}
        for key, language in places:
            wanted.setdefault(key.entity_type, {}).setdefault(key.entity_id, set()).add(language)
        found = []
        for entity_type, ids in wanted.items():
            rows = self.documents.filter(entity_type=entity_type, entity_id__in=list(ids))
            for pk, entity_id, language in rows.values_list("pk", "entity_id", "language"):
                if None in ids[entity_id] or language in ids[entity_id]:
                    found.append(pk)
        return found

    def stored(self, entity_type: str, ids: Iterable[str] | None) -> dict[tuple[str, str], Stored]:
        rows = self.documents.filter(entity_type=entity_type)
        if ids is not None:
            rows = rows.filter(entity_id__in=list(ids))
        values = rows.values_list("entity_id", "language", "checksum", "fingerprint", "embedding")
        return {
            (entity_id, language): Stored(
                checksum=checksum, fingerprint=fingerprint, embedding=embedding
            )
            for entity_id, language, checksum, fingerprint, embedding in values.iterator()
        }

    def chunks(self, chunk_ids: Sequence[int]) -> dict[int, Chunk]:
        """Load those chunks that are still here, by id."""
        found = {}
        for start in range(0, len(chunk_ids), BATCH):
            rows = IndexedChunk.objects.using(self.using).select_related("document")
            for row in rows.filter(pk__in=chunk_ids[start : start + BATCH]):
                document = row.document
                found[row.pk] = Chunk(
                    id=row.pk,
                    key=ObjectKey(document.entity_type, document.entity_id),
                    language=document.language,
                    position=row.position,
                    text=row.text,
                    title=document.title,
                    url=document.url,
                    heading=row.heading,
                    anchor=row.anchor,
                )
        return found

    def open_to(self, chunk_ids: Sequence[int], tags: frozenset[str]) -> set[int]:
        """Return those chunks whose document has no tags or one of ``tags``."""
        if not chunk_ids:
            return set()
        rows = IndexedChunk.objects.using(self.using).filter(pk__in=chunk_ids)
        tagged = rows.filter(document__tags__isnull=False)
        closed = set(tagged.values_list("pk", flat=True))
        if closed and tags:
            closed -= set(tagged.filter(document__tags__tag__in=tags).values_list("pk", flat=True))
        return set(chunk_ids) - closed

    def _count_up(self, languages: Iterable[str] = ()) -> int:
        """Raise the version and return it.

        Comes first in a transaction: the row is locked to its end, so versions are seen in
        order, and a transaction that starts by writing is never refused for what it has read.
        """
        states = IndexState.objects.using(self.using)
        # From the clock, so that a number which a rolled-back transaction used never returns.
        now = int(time.time() * 1_000_000)
        next_version = Greatest(F("version") + 1, Value(now, output_field=BigIntegerField()))
        if not states.filter(index=self.alias).update(version=next_version):
            states.get_or_create(index=self.alias)
            states.filter(index=self.alias).update(version=next_version)
        state = states.get(index=self.alias)
        if new := sorted(set(languages) - set(state.languages)):
            states.filter(index=self.alias).update(languages=[*state.languages, *new])
        return state.version

    def _take_out(self, ids: Sequence[int], version: int) -> int:
        if ids:
            IndexState.objects.using(self.using).filter(index=self.alias).update(removed=version)
            self._delete(ids)
        return len(ids)

    def _delete(self, ids: Sequence[int]) -> None:
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            chunks = IndexedChunk.objects.using(self.using).filter(document__in=batch)
            self.fulltext.remove(list(chunks.values_list("pk", flat=True)))
            # One statement each instead of Django's collector, which would load every chunk.
            vectors = IndexedVector.objects.using(self.using).filter(chunk__document__in=batch)
            tags = IndexedTag.objects.using(self.using).filter(document__in=batch)
            for rows in (vectors, chunks, tags):
                rows._raw_delete(self.using)
            self.documents.filter(pk__in=batch)._raw_delete(self.using)

    def _insert(self, entry: Entry, version: int) -> None:
        document, stored = entry.document, entry.stored
        row = IndexedDocument.objects.using(self.using).create(
            index=self.alias,
            entity_type=document.key.entity_type,
            entity_id=document.key.entity_id,
            language=document.language,
            title=document.title,
            url=document.url,
            checksum=stored.checksum,
            fingerprint=stored.fingerprint,
            embedding=stored.embedding if entry.vectors is not None else "",
        )
        IndexedTag.objects.using(self.using).bulk_create(
            IndexedTag(document=row, tag=tag) for tag in sorted(document.access_tags)
        )
        chunks = IndexedChunk.objects.using(self.using).bulk_create(
            IndexedChunk(
                document=row,
                position=chunk.position,
                heading=chunk.heading,
                anchor=chunk.anchor[:255],
                text=chunk.text,
            )
            for chunk in entry.chunks
        )
        self.fulltext.put(_indexed_words(chunk, document) for chunk in chunks)
        if entry.vectors is not None:
            IndexedVector.objects.using(self.using).bulk_create(
                IndexedVector(
                    chunk=chunk,
                    index=self.alias,
                    embedding=stored.embedding,
                    version=version,
                    vector=np.ascontiguousarray(vector, "<f4").tobytes(),
                )
                for chunk, vector in zip(chunks, entry.vectors, strict=True)
            )


def _indexed_words(chunk: IndexedChunk, document) -> tuple[int, str, str, str]:
    texts = (document.title, chunk.heading, chunk.text)
    return (chunk.pk, *(" ".join(words_of(text, document.language)) for text in texts))
