"""From documents to entries an index can store: checksum, chunks, vectors.

In: documents and the settings of an index. Out: ``Entry`` values. Vectors are made here, before
and outside any transaction.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils.text import Truncator

from ..retrieval import Entry, IndexSettings, Stored, words
from ..retrieval.embeddings import embed_texts, embedding_identity
from ..sources import Source
from ..sources.base import storable
from ..values import Chunk, Document
from . import chunking

TITLE_CHARS = 300
"""Of a title that is kept; what is longer is cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A document cut into chunks, without vectors yet."""

    document: Document
    stored: Stored
    replaces: Stored | None
    """How the document is indexed now; ``None``: it is not."""
    chunks: list[Chunk]


def require_storable(document: Document) -> None:
    """Raise ``ValueError`` when the index's tables do not take what names or opens a document.

    A changed tag or id would be another one, so none is cut or cleaned, as texts are.
    """
    for tag in document.access_tags:
        _require("tag", tag, "an access tag")
    _require("language", document.language, "a language")
    require_id(document.key.entity_id)


def require_id(entity_id: str) -> None:
    """Raise ``ValueError`` when no index takes the id."""
    _require("entity_id", entity_id, "an id")


def _require(name: str, value: str, what: str) -> None:
    from ..models import IndexedDocument, IndexedTag  # late: texts are cut without a project, too

    model = IndexedTag if name == "tag" else IndexedDocument
    most = model._meta.get_field(name).max_length
    if len(value) > most:
        raise ValueError(f"It has {what} of {len(value)} characters; {most} is the most.")
    if value != storable(value):
        raise ValueError(f"It has {what} with a NUL or half a character in it, {value!r}.")


def stored_as(document: Document, settings: IndexSettings, source: Source) -> Stored:
    """Return how ``document`` is to be recorded: equal values need no new indexing."""
    content = [document.title, document.url, document.text, sorted(document.access_tags)]
    return Stored(
        checksum=_digest(content),
        fingerprint=fingerprint(settings, source),
        embedding=embedding_identity(settings.embedding),
    )


def fingerprint(settings: IndexSettings, source: Source) -> str:
    """Return what tells one way of reading, cutting and tokenising from another."""
    cut = [settings.chunk_tokens, settings.chunk_overlap, chunking.VERSION, words.VERSION]
    return _digest(
        [*cut, source.fields, source.html_fields, source.repeated_anchor, source.version]
    )


def has_text(known: Stored | None, stored: Stored) -> bool:
    """Whether what is ``known`` of a document has the text it is to be ``stored`` with."""
    return known is not None and (known.checksum, known.fingerprint) == (
        stored.checksum,
        stored.fingerprint,
    )


def prepare(
    document: Document,
    stored: Stored,
    replaces: Stored | None,
    settings: IndexSettings,
    anchors_of: chunking.AnchorsOf,
) -> Prepared:
    # Each chunk carries the title; that of a comment may be all of its text.
    document = replace(document, title=Truncator(document.title).chars(TITLE_CHARS))
    chunks = chunking.chunks_of(
        document,
        tokens=settings.chunk_tokens,
        overlap=settings.chunk_overlap,
        anchors_of=anchors_of,
    )
    return Prepared(document=document, stored=stored, replaces=replaces, chunks=chunks)


def entries(prepared: Sequence[Prepared], settings: IndexSettings, *, vectors: bool) -> list[Entry]:
    """Add vectors where the index has an embedding and ``vectors`` is wanted, in one call."""
    made = None
    if vectors and settings.embedding is not None:
        texts = [
            embedded_text(chunk, tokens=settings.chunk_tokens)
            for item in prepared
            for chunk in item.chunks
        ]
        made = embed_texts(settings.embedding, texts)
    found, start = [], 0
    for item in prepared:
        end = start + len(item.chunks)
        found.append(
            Entry(
                document=item.document,
                stored=item.stored,
                chunks=item.chunks,
                vectors=None if made is None else made[start:end],
                replaces=item.replaces,
            )
        )
        start = end
    return found


def embedded_text(chunk: Chunk, *, tokens: int) -> str:
    """Return a chunk with what it stands under: alone it may not say what it is about.

    At most ``tokens`` tokens, the index's ``CHUNK_TOKENS``: models cut longer ones silently.
    """
    head = chunking.context_of(chunk.title, chunk.heading, tokens=tokens)
    return f"{head}\n\n{chunk.text}" if head else chunk.text


def _digest(value: object) -> str:
    said = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
