"""Writing the rows of documents that are new: documents, tags, chunks.

In: entries, inside a transaction that has taken out what was there of them. Out: the ids of their
chunks. Words and vectors are the legs'. To be tested through ``DatabaseIndex``.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..models import IndexedChunk, IndexedDocument, IndexedTag
from .base import Entry


def insert(using: str, index: str, entries: Sequence[Entry]) -> list[list[int]]:
    """Write ``entries``; return the ids of the chunks of each, in order."""
    documents = IndexedDocument.objects.using(using).bulk_create(
        IndexedDocument(
            index=index,
            entity_type=entry.document.key.entity_type,
            entity_id=entry.document.key.entity_id,
            language=entry.document.language,
            title=entry.document.title,
            url=entry.document.url,
            checksum=entry.stored.checksum,
            fingerprint=entry.stored.fingerprint,
        )
        for entry in entries
    )
    _add_keys(using, documents, "index", "entity_type", "entity_id", "language")
    IndexedTag.objects.using(using).bulk_create(
        IndexedTag(document=row, tag=tag)
        for entry, row in zip(entries, documents, strict=True)
        for tag in sorted(entry.document.access_tags)
    )
    chunks = IndexedChunk.objects.using(using).bulk_create(
        IndexedChunk(
            document=row,
            position=chunk.position,
            heading=chunk.heading,
            anchor=chunk.anchor[:255],
            text=chunk.text,
        )
        for entry, row in zip(entries, documents, strict=True)
        for chunk in entry.chunks
    )
    _add_keys(using, chunks, "document_id", "position")
    ids: dict[int, list[int]] = {row.pk: [] for row in documents}
    for chunk in chunks:
        ids[chunk.document_id].append(chunk.pk)
    return [ids[row.pk] for row in documents]


def _add_keys(using: str, rows: Sequence, *fields: str) -> None:
    """Give rows just written their primary keys, where the database has not: MySQL does not."""
    if all(row.pk is not None for row in rows):
        return
    among = {f"{name}__in": {getattr(row, name) for row in rows} for name in fields}
    there = type(rows[0]).objects.using(using).filter(**among)
    keys = {tuple(key): pk for pk, *key in there.values_list("pk", *fields)}
    for row in rows:
        row.pk = keys[tuple(getattr(row, name) for name in fields)]
