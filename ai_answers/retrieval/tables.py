"""Writing and reading the rows of one index, whatever the database.

Every write is one short transaction over documents, tags, chunks and the legs that keep their
words and vectors, and counts the index's version up. To be tested through ``DatabaseIndex``.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from django.db import transaction
from django.db.models import BigIntegerField, F, Value
from django.db.models.functions import Greatest

from ..models import IndexedChunk, IndexedDocument, IndexedTag, IndexedVector, IndexState
from ..values import Chunk, ObjectKey
from .base import Entry, Stored, still_as_read
from .inserting import insert
from .legs import ChunkWords, VectorsLeg, WordsLeg, words_in
from .outside import Outside

BATCH = 500
"""Values in one ``IN``: every database takes that many."""


_Place = tuple[ObjectKey, str]


class Tables:
    """The rows of index ``alias`` in the database ``using``."""

    def __init__(
        self, alias: str, using: str, *, words: WordsLeg | None, vectors: VectorsLeg | None
    ) -> None:
        self.alias = alias
        self.using = using
        self.words = words
        self.vectors = vectors

    @property
    def outside(self) -> list[Outside]:
        """The legs that another server keeps."""
        return [leg for leg in (self.words, self.vectors) if isinstance(leg, Outside)]

    @property
    def documents(self):
        return IndexedDocument.objects.using(self.using).filter(index=self.alias)

    def state(self) -> IndexState:
        """Return the index's counters; an unsaved row when nothing was ever written."""
        states = IndexState.objects.using(self.using)
        return states.filter(index=self.alias).first() or IndexState(index=self.alias)

    def put(self, entries: Sequence[Entry]) -> None:
        """Store ``entries``; those that only lack vectors keep their chunks and old vectors."""
        words = self._words(entries)
        with transaction.atomic(using=self.using):
            version = self._count_up({entry.document.language for entry in entries})
            entries = still_as_read(entries, self.stored)
            same = self._same_texts(entries)
            new = [entry for entry in entries if _place(entry) not in same]
            self._take_out(self.find(map(_place, new)), version)
            chunk_ids = same | self._insert(new, words)
            for entry in entries:
                self._add_vectors(entry, chunk_ids[_place(entry)], version)
            self._serve_if_complete({entry.stored.embedding for entry in entries})

    def finish(self, embedding: str) -> None:
        """Serve ``embedding`` from now on, complete or not, and drop the vectors of others."""
        with transaction.atomic(using=self.using):
            version = self._count_up()
            states = IndexState.objects.using(self.using).filter(index=self.alias)
            # Only then do processes hold vectors that go here.
            states.exclude(embedding=embedding).update(embedding=embedding, removed=version)
            if self.vectors is not None:
                self.vectors.keep_only(embedding)

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
        if self.words is not None:
            with transaction.atomic(using=self.using):
                self._count_up()  # a leg may count anew: nobody may write or see it half done
                self.words.remove_orphans(self.alias)

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
                checksum=checksum, fingerprint=fingerprint, embedding=self.embedding_of(embedding)
            )
            for entity_id, language, checksum, fingerprint, embedding in values.iterator()
        }

    def mark(self, embedding: str) -> str:
        """Return what documents say whose vectors are those of ``embedding`` in this leg."""
        kept_in = self.vectors.kept_in if self.vectors is not None else ""
        return f"{embedding} {kept_in}" if embedding and kept_in else embedding

    def embedding_of(self, mark: str) -> str:
        """Return the embedding that a document's mark names; empty: its vectors are not here."""
        embedding = mark.split(" ")[0]
        return embedding if self.mark(embedding) == mark else ""

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
            _, is_new = states.get_or_create(index=self.alias)
            if is_new:
                self._forget_leftovers()
            states.filter(index=self.alias).update(version=next_version)
        state = states.get(index=self.alias)
        if new := sorted(set(languages) - set(state.languages)):
            states.filter(index=self.alias).update(languages=[*state.languages, *new])
        return state.version

    def _forget_leftovers(self) -> None:
        """Empty what Django does not know of: its ``flush`` has taken all the rest."""
        if self.words is not None:
            self.words.remove_orphans(self.alias)
        if self.vectors is not None:
            self.vectors.keep_only("")

    def _take_out(self, ids: Sequence[int], version: int) -> int:
        if ids:
            IndexState.objects.using(self.using).filter(index=self.alias).update(removed=version)
            self._delete(ids)
        return len(ids)

    def _delete(self, ids: Sequence[int]) -> None:
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            chunks = IndexedChunk.objects.using(self.using).filter(document__in=batch)
            chunk_ids = list(chunks.values_list("pk", flat=True))
            for start_of_ids in range(0, len(chunk_ids), BATCH):
                some = chunk_ids[start_of_ids : start_of_ids + BATCH]
                if self.words is not None:
                    self.words.remove(self.alias, some)
                if self.vectors is not None:
                    self.vectors.remove(some)
                # Also of an index that has its vectors elsewhere by now.
                vectors = IndexedVector.objects.using(self.using).filter(chunk__in=some)
                vectors._raw_delete(self.using)
            # One statement each instead of Django's collector, which would load every chunk.
            tags = IndexedTag.objects.using(self.using).filter(document__in=batch)
            for rows in (chunks, tags):
                rows._raw_delete(self.using)
            self.documents.filter(pk__in=batch)._raw_delete(self.using)

    def _words(self, entries: Sequence[Entry]) -> dict[_Place, list]:
        """Return the words of those documents that are not here with the very same chunks."""
        if self.words is None or isinstance(self.words, Outside):
            return {}
        same = self._same_texts(entries)
        return {_place(entry): words_in(entry) for entry in entries if _place(entry) not in same}

    def _insert(
        self, entries: Sequence[Entry], words: Mapping[_Place, list]
    ) -> dict[_Place, list[int]]:
        """Write documents without vectors; return the ids of each one's chunks, in order."""
        chunk_ids = insert(self.using, self.alias, entries)
        if self.words is not None:
            # Those of a document that has changed since are made here.
            rows = (
                ChunkWords(chunk_id, *texts)
                for entry, ids in zip(entries, chunk_ids, strict=True)
                for chunk_id, texts in zip(
                    ids, words.get(_place(entry)) or words_in(entry), strict=True
                )
            )
            self.words.put(self.alias, rows)
        return {_place(entry): ids for entry, ids in zip(entries, chunk_ids, strict=True)}

    def _same_texts(self, entries: Sequence[Entry]) -> dict[_Place, list[int]]:
        """Return the chunk ids of those documents that are here with the very same chunks."""
        found = {}
        for entry in entries:
            if entry.vectors is None:
                continue
            key, stored = entry.document.key, entry.stored
            rows = self.documents.filter(
                entity_type=key.entity_type,
                entity_id=key.entity_id,
                language=entry.document.language,
                checksum=stored.checksum,
                fingerprint=stored.fingerprint,
            ).exclude(embedding=self.mark(stored.embedding))
            chunks = IndexedChunk.objects.using(self.using).filter(document__in=rows)
            here = list(chunks.order_by("position").values_list("pk", "text"))
            if here and [text for _, text in here] == [chunk.text for chunk in entry.chunks]:
                found[_place(entry)] = [pk for pk, _ in here]
        return found

    def _add_vectors(self, entry: Entry, chunk_ids: Sequence[int], version: int) -> None:
        if entry.vectors is None or self.vectors is None:
            return
        embedding = entry.stored.embedding
        self.vectors.put(chunk_ids, entry.vectors, embedding=embedding, version=version)
        key, language = _place(entry)
        self.documents.filter(
            entity_type=key.entity_type, entity_id=key.entity_id, language=language
        ).update(embedding=self.mark(embedding))

    def _serve_if_complete(self, embeddings: set[str]) -> None:
        """Let searches use an embedding once every document has its vectors.

        Half of them are enough where no other embedding serves: a few documents that could not
        be embedded must not keep the others' vectors from use.
        """
        states = IndexState.objects.using(self.using).filter(index=self.alias)
        for embedding in embeddings - {""}:
            lacking = self.documents.exclude(embedding=self.mark(embedding))
            enough = not lacking.exists()
            if not enough and not self.state().embedding:
                enough = lacking.count() <= self.documents.count() / 2
            if enough:
                states.exclude(embedding=embedding).update(embedding=embedding)


def _place(entry: Entry) -> _Place:
    return entry.document.key, entry.document.language
