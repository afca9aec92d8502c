"""The two halves of an index: one ranks chunks by their words, the other by their vectors.

``DatabaseIndex`` puts a pair of them together, whatever they are kept in. Chunks are named by
their row ids. A leg decides nothing about languages, objects or fusion. Every pair passes the
contract tests of ``tests/retrieval``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..exceptions import RetrievalError
from .base import Entry
from .words import QueryWord, words_of


class ChunkWords(NamedTuple):
    """The words of one chunk as they are indexed: lower case, stemmed, letters and digits."""

    chunk_id: int
    title: list[str]
    heading: list[str]
    body: list[str]


def words_in(entry: Entry) -> list[tuple[list[str], list[str], list[str]]]:
    """Return the words of each chunk: of its title, its heading, its text.

    Takes seconds for a large document, so never in a transaction.
    """
    language = entry.document.language
    title = words_of(entry.document.title, language)
    return [
        (title, words_of(chunk.heading, language), words_of(chunk.text, language))
        for chunk in entry.chunks
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """What the words say."""

    scores: Mapping[int, float]
    """BM25 by chunk id, best first."""
    ideal: float
    """The score of a chunk that held every word of the query once."""
    failure: RetrievalError | None = None
    """Why they say nothing, where they could not be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """What the vectors say."""

    cosines: Mapping[int, float]
    """By chunk id: of the nearest chunks, and of those that were asked for."""
    usual: float
    """Average cosine of the query with all chunks, or with a fair sample of them."""
    spread: float
    """Standard deviation of the same; 0 when there is nothing to compare."""


class WordsLeg(ABC):
    """Full text over the chunks in the database ``using``."""

    def __init__(self, using: str) -> None:
        self.using = using

    @abstractmethod
    def put(self, index: str, rows: Iterable[ChunkWords]) -> None:
        """Write the words of chunks, inside the transaction that writes the chunks."""

    @abstractmethod
    def remove(self, index: str, chunk_ids: Sequence[int]) -> None:
        """Take chunks out, inside the transaction that deletes them, before they go."""

    @abstractmethod
    def search(
        self,
        words: Sequence[QueryWord],
        *,
        index: str,
        tags: frozenset[str],
        limit: int,
        respell_in: Sequence[str] = (),
    ) -> Ranked:
        """Rank at most ``limit`` chunks that hold one of ``words`` and are open to ``tags``.

        ``respell_in``: the languages in which to look for a word nearby in place of one that
        no open chunk holds.
        """

    def remove_orphans(self, index: str) -> None:  # noqa: B027 - most have none
        """Take out what belongs to chunks that were deleted by other means than the index.

        Inside a transaction that has locked the index's state.
        """


class VectorsLeg(ABC):
    """Vectors of the chunks of index ``alias`` in the database ``using``."""

    kept_in = ""
    """Says where they are, where that is not ``IndexedVector``: at most 31 characters. Documents
    whose vectors are in another place than an index has now are embedded anew."""

    def __init__(self, alias: str, using: str) -> None:
        self.alias = alias
        self.using = using

    @abstractmethod
    def put(
        self, chunk_ids: Sequence[int], vectors: np.ndarray, *, embedding: str, version: int
    ) -> None:
        """Write one float32 unit row a chunk, inside the transaction that writes the chunks.

        A chunk may hold vectors of two embeddings while an index changes from one to the other.
        """

    @abstractmethod
    def remove(self, chunk_ids: Sequence[int]) -> None:
        """Take all vectors of chunks out, inside the transaction that deletes the chunks."""

    @abstractmethod
    def keep_only(self, embedding: str) -> None:
        """Take out the vectors of all other embeddings."""

    @abstractmethod
    def nearest(
        self,
        query: np.ndarray,
        *,
        embedding: str,
        tags: frozenset[str],
        limit: int,
        also: Sequence[int],
    ) -> Nearest | None:
        """Find the ``limit`` nearest chunks open to ``tags``, with the cosines of ``also``.

        ``None`` when there are no vectors of ``embedding``. Raises ``EmbeddingFailed`` when
        ``query`` has another length than they have.
        """

    @abstractmethod
    def count(self, embedding: str) -> int:
        """Return how many chunks have a vector of ``embedding``."""
