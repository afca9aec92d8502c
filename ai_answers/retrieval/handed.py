"""The embedding a vector store is given: it hands over vectors that were made before.

In: texts with their vectors, for the time of one call. Out: the vectors when the store asks for
them, in whatever batches and order. A store that tries out its embedding with a text of its own
gets a vector of the right length; while it is made, it gets the real one. No Django.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from langchain_core.embeddings import Embeddings

from ..exceptions import RetrievalError
from .embeddings import get_embedding

Vector = Sequence[float]


@dataclass(slots=True, kw_only=True)
class _Hand:
    """What is there to hand over."""

    vectors: dict[str, deque[Vector]] = field(default_factory=lambda: defaultdict(deque))
    query: Vector | None = None
    alias: str | None = None
    """The embedding to ask instead, while a store is made."""

    def vector_of(self, text: str) -> Vector:
        there = self.vectors.get(text)
        if not there:
            return self.any_vector()
        # The same text may stand in two chunks, and its vector stands in turn for each.
        there.rotate(-1)
        return there[-1]

    def any_vector(self) -> Vector:
        """Return one for a text that is none of ours: only its length can matter."""
        if self.query is not None:
            return self.query
        return next(iter(self.vectors.values()))[0]


_hand: ContextVar[_Hand | None] = ContextVar("ai_answers_hand", default=None)


@contextmanager
def handing(
    texts: Sequence[str], vectors: Sequence[Vector], *, query: Vector | None = None
) -> Iterator[None]:
    """Within it, a store gets ``vectors`` for ``texts``, and ``query`` for any query."""
    hand = _Hand(query=query)
    for text, vector in zip(texts, vectors, strict=True):
        hand.vectors[text].append(vector)
    with _held(hand):
        yield


@contextmanager
def making(alias: str) -> Iterator[None]:
    """Within it, a store may ask the embedding ``alias``, as some do to learn its length."""
    with _held(_Hand(alias=alias)):
        yield


@contextmanager
def _held(hand: _Hand) -> Iterator[None]:
    token = _hand.set(hand)
    try:
        yield
    finally:
        _hand.reset(token)


class Handed(Embeddings):
    """What a store is given as its embedding."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        hand = self._hand()
        if hand.alias is not None:
            return get_embedding(hand.alias).embed_documents(texts)
        return [list(hand.vector_of(text)) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        hand = self._hand()
        if hand.alias is not None:
            return get_embedding(hand.alias).embed_query(text)
        return list(hand.any_vector())

    def _hand(self) -> _Hand:
        hand = _hand.get()
        if hand is None:  # wrong vectors would be worse than none
            raise RetrievalError(
                "The vector store asks for vectors on a thread of its own, where there are none; "
                "such a store cannot be used."
            )
        return hand
