"""Filling another server anew from the rows of the database.

In: an index's documents, chunks and vectors as they are stored. Out: calls of each outside leg's
``send``, a few documents at a time. Nothing is embedded, and no transaction waits for a server.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from django.db.models import QuerySet

from ..models import IndexedChunk, IndexedDocument, IndexedVector
from ..values import Chunk, Document, ObjectKey
from .base import Entry, Stored
from .outside import Outside, Place, places_of

DOCUMENTS = 100
"""Read and sent at once."""


def resend(index: str, using: str, legs: Sequence[Outside]) -> int:
    """Send all documents of ``index`` to ``legs``; return how many chunks were sent."""
    if not legs:
        return 0
    count = 0
    documents = IndexedDocument.objects.using(using).filter(index=index)
    for entries in entries_of(using, documents):
        sent: set[Place] = set()
        for leg in legs:
            if mine := [entry for entry in entries if leg.part_of(entry)]:
                leg.send(index, mine)
                sent.update(place for entry in mine for place in places_of(entry))
        count += len(sent)
    return count


def entries_of(using: str, documents: QuerySet) -> Iterator[list[Entry]]:
    """Yield ``documents`` as they are stored, some at a time, without those that have no chunks."""
    last = 0
    documents = documents.order_by("pk").prefetch_related("tags")
    while rows := list(documents.filter(pk__gt=last)[:DOCUMENTS]):
        last = rows[-1].pk
        chunks = _chunks(using, rows)
        yield [
            entry
            for row in rows
            if row.pk in chunks
            for entry in _entries(using, row, chunks[row.pk])
        ]


def _chunks(using: str, documents: Sequence[IndexedDocument]) -> dict[int, list[IndexedChunk]]:
    rows = IndexedChunk.objects.using(using).filter(document__in=[row.pk for row in documents])
    found: dict[int, list[IndexedChunk]] = defaultdict(list)
    for row in rows.order_by("document", "position"):
        found[row.document_id].append(row)
    return found


def _entries(
    using: str, document: IndexedDocument, chunks: Sequence[IndexedChunk]
) -> Iterator[Entry]:
    """Yield the document with each embedding it has vectors of; without any, once."""
    vectors = IndexedVector.objects.using(using).filter(chunk__in=[chunk.pk for chunk in chunks])
    by_embedding: dict[str, dict[int, bytes]] = defaultdict(dict)
    for chunk_id, embedding, blob in vectors.values_list("chunk", "embedding", "vector"):
        by_embedding[embedding][chunk_id] = bytes(blob)
    value = Document(
        key=ObjectKey(document.entity_type, document.entity_id),
        language=document.language,
        title=document.title,
        url=document.url,
        text="",
        access_tags=frozenset(row.tag for row in document.tags.all()),
    )
    for embedding, blobs in by_embedding.items() or [("", {})]:
        kept = [chunk for chunk in chunks if not blobs or chunk.pk in blobs]
        yield Entry(
            document=value,
            stored=Stored(
                checksum=document.checksum, fingerprint=document.fingerprint, embedding=embedding
            ),
            chunks=[_chunk(value, chunk) for chunk in kept],
            vectors=np.vstack([np.frombuffer(blobs[chunk.pk], "<f4") for chunk in kept])
            if blobs
            else None,
        )


def _chunk(document: Document, row: IndexedChunk) -> Chunk:
    return Chunk(
        id=row.pk,
        key=document.key,
        language=document.language,
        position=row.position,
        text=row.text,
        title=document.title,
        url=document.url,
        heading=row.heading,
        anchor=row.anchor,
    )
