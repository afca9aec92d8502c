"""Hits become numbered sources; sources become references.

One ``TurnSources`` lives as long as its turn. A number belongs to an object, is given when the
object first comes up and never changes (S62); later calls only add behind it. No Django here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..tokens import count_tokens
from ..values import Chunk, Hit, ObjectKey, Source


class TurnSources:
    """The numbered sources of one turn.

    ``max_sources`` caps the turn, ``max_references`` the new objects of one call, ``max_tokens``
    the text of all chunks together.
    """

    def __init__(self, *, max_sources: int, max_references: int, max_tokens: int) -> None:
        self._max_sources = max_sources
        self._max_references = max_references
        self._tokens_left = max_tokens
        self._by_key: dict[ObjectKey, Source] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    @property
    def all(self) -> tuple[Source, ...]:
        """Every source so far, in order of number."""
        return tuple(self._by_key.values())

    def hold(self, sources: Iterable[Source]) -> None:
        """Take over an earlier turn's sources, numbered anew for this turn (S28)."""
        for source in sources:
            chunks = self._affordable(source.chunks)
            if chunks and len(self) < self._max_sources and source.key not in self._by_key:
                self._by_key[source.key] = replace(source, number=len(self) + 1, chunks=chunks)

    def add(self, hits: Sequence[Hit], *, is_listing: bool = False) -> tuple[Source, ...]:
        """Merge the hits of one call; returns the sources they belong to, with those chunks.

        A listing is complete: ``max_references`` does not cut it (S59).

        An object beyond a cap is skipped, not the end: later chunks of objects that are in
        still count (S50). The order is the search's (R9).
        """
        touched: dict[ObjectKey, list[Chunk]] = {}
        new = 0
        for hit in hits:
            chunk = hit.chunk
            source = self._by_key.get(chunk.key)
            if source is None:
                over = new >= self._max_references and not is_listing
                if over or len(self) >= self._max_sources:
                    continue
                source = self._new_source(hit)
            if chunk not in source.chunks:
                if not self._affordable([chunk]):
                    continue
                source = replace(source, chunks=(*source.chunks, chunk))
            if chunk.key not in self._by_key:
                new += 1
            self._by_key[chunk.key] = source
            chunks = touched.setdefault(chunk.key, [])
            if chunk not in chunks:
                chunks.append(chunk)
        return tuple(
            replace(self._by_key[key], chunks=tuple(chunks)) for key, chunks in touched.items()
        )

    def withdraw(self, numbers: Iterable[int]) -> None:
        """Forget the text of sources that may no longer be used; their numbers stay taken."""
        for key, source in self._by_key.items():
            if source.number in numbers:
                self._by_key[key] = replace(source, title="", chunks=())

    def _new_source(self, hit: Hit) -> Source:
        # The similarity where there is one: it may be shown, what it was ranked by may not (D59).
        kind = "cosine" if "cosine" in hit.scores else hit.score_kind
        return Source(
            number=len(self) + 1,
            key=hit.chunk.key,
            title=hit.chunk.title,
            url=hit.chunk.url,
            language=hit.chunk.language,
            chunks=(),
            score=hit.scores.get(kind, hit.score),
            score_kind=kind,
        )

    def _affordable(self, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
        kept = []
        for chunk in chunks:
            tokens = count_tokens(chunk.text)
            if tokens <= self._tokens_left:
                self._tokens_left -= tokens
                kept.append(chunk)
        return tuple(kept)


def to_json(sources: Iterable[Source]) -> list[dict[str, Any]]:
    """The stored form of a turn's sources (D31, D32)."""
    return [
        {
            "entity_type": source.key.entity_type,
            "entity_id": source.key.entity_id,
            "title": source.title,
            "url": source.url,
            "language": source.language,
            "score": source.score,
            "score_kind": source.score_kind,
            "chunks": [
                {
                    "id": chunk.id,
                    "position": chunk.position,
                    "text": chunk.text,
                    "heading": chunk.heading,
                    "anchor": chunk.anchor,
                    "language": chunk.language,
                }
                for chunk in source.chunks
            ],
        }
        for source in sources
    ]


def from_json(rows: Iterable[dict[str, Any]]) -> list[Source]:
    """Read what ``to_json`` wrote; numbers follow the order."""
    sources = []
    for number, row in enumerate(rows, start=1):
        key = ObjectKey(row["entity_type"], row["entity_id"])
        sources.append(
            Source(
                number=number,
                key=key,
                title=row["title"],
                url=row["url"],
                language=row["language"],
                score=row["score"],
                score_kind=row["score_kind"],
                chunks=tuple(
                    Chunk(key=key, title=row["title"], url=row["url"], **chunk)
                    for chunk in row["chunks"]
                ),
            )
        )
    return sources
