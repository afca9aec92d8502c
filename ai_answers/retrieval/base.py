"""What an index is: the contract between indexing, searching and a backend.

A backend stores documents cut into chunks and finds chunks for a query. It decides nothing about
who may read: it filters by the tags it is given, ``searching`` asks ``can_view``. Every backend
passes the contract tests of ``tests/retrieval``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..values import Chunk, Document, Hit, ObjectKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """How a document is indexed now; compared to find what changed."""

    checksum: str
    fingerprint: str
    embedding: str = ""
    """Identity of the embedding its vectors come from; empty without vectors."""


ANYTHING: Any = object()
"""What an entry replaces when it replaces whatever is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A document as it is to be stored. It replaces all chunks of the same key and language."""

    document: Document
    stored: Stored
    chunks: Sequence[Chunk]
    vectors: Any = None
    """float32, one row a chunk, unit length; ``None`` without vectors."""
    replaces: Stored | None = ANYTHING
    """What was there of the document (``None``: nothing) before the object was read. If there is
    something else by now, another process has read it later, and this entry is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    documents: int
    chunks: int
    vectors: int
    """Chunks with a vector of the embedding in use."""


def still_as_read(
    entries: Iterable[Entry],
    stored: Callable[[str, list[str]], Mapping[tuple[str, str], Stored]],
) -> list[Entry]:
    """Return those entries that still replace what they say; call it where nobody else writes.

    ``stored``: as ``Index.stored``.
    """
    entries, there = list(entries), {}
    ids: dict[str, list[str]] = {}
    for entry in entries:
        if entry.replaces is not ANYTHING:
            ids.setdefault(entry.document.key.entity_type, []).append(entry.document.key.entity_id)
    for name, some in ids.items():
        there |= {(name, *place): value for place, value in stored(name, some).items()}
    return [
        entry
        for entry in entries
        if entry.replaces is ANYTHING
        or entry.replaces == there.get((*entry.document.key, entry.document.language))
    ]


class Index(ABC):
    """Where chunks are found. One instance an alias and process, used by many threads.

    ``alias``: its name in ``INDEXES``. ``embedding``: alias of its embedding, or ``None``.
    Further keyword arguments are the ``OPTIONS`` of the setting.
    """

    is_read_only = False
    """Whether it is filled by others: indexing and saved objects leave it alone."""

    def __init__(self, alias: str, *, embedding: str | None = None) -> None:
        self.alias = alias
        self.embedding = embedding

    @property
    def score_kind(self) -> str:
        """The kind of score its hits have when nothing fails."""
        return "fused" if self.embedding else "bm25"

    @abstractmethod
    def put(self, entries: Iterable[Entry]) -> None:
        """Store ``entries`` in one transaction; readers see all of them or none.

        Those whose document is not what they replace any more are left out (``still_as_read``).
        """

    @abstractmethod
    def remove(self, keys: Iterable[ObjectKey]) -> int:
        """Take objects out in all their languages; return how many documents went."""

    @abstractmethod
    def remove_documents(self, documents: Iterable[tuple[ObjectKey, str]]) -> int:
        """Take single languages of objects out; return how many documents went."""

    @abstractmethod
    def stored(
        self, entity_type: str, ids: Iterable[str] | None = None
    ) -> dict[tuple[str, str], Stored]:
        """Return what is there of a source, by entity id and language; ``ids`` narrows it."""

    @abstractmethod
    def outdated(self, entity_type: str, *, fingerprint: str, embedding: str) -> int:
        """Count the documents of a source that were indexed in another way than this one."""

    @abstractmethod
    def search(
        self, query: str, *, tags: frozenset[str], limit: int, language: str = ""
    ) -> list[Hit]:
        """Return at most ``limit`` chunks, best first, one ``score_kind`` throughout.

        Only documents without tags or with one of ``tags``. ``language`` is the asker's: a help
        to understand the query, no filter. Fewer than ``limit`` means there are no more. An
        empty query, or one without a word, finds nothing. No query text is ever syntax.
        Where the embedding fails, the words alone decide and the kind is ``bm25``; where the words
        fail, the vectors, and it is ``vectors``. Raises ``RetrievalError`` where nothing is left.
        """

    @abstractmethod
    def clear(self, entity_type: str | None = None) -> None:
        """Empty the index, or take one source out of it."""

    def finish(self) -> None:  # noqa: B027 - a backend may have nothing to tidy
        """All sources are in step: what was kept for the time of a rebuild may go."""

    @abstractmethod
    def stats(self) -> Stats:
        """Count what is there."""

    @abstractmethod
    def entity_types(self) -> set[str]:
        """Return the names of the sources that have documents here."""
