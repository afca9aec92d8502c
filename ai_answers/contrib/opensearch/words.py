"""The leg for words that asks an OpenSearch server.

In: chunks before the database has them, words of a query. Out: chunk ids with BM25 scores. The
server finds and ranks candidates; access is asked of the database again, and the scores are
computed here from what the candidates hold: with the formula of the other databases, whatever
the server's version, shards and similarity make of it, so that fusion and ``min_score`` mean the
same everywhere. The words are ours, cut to stems by language. To be tested through
``DatabaseIndex``, against a server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ...exceptions import RetrievalError
from ...models import IndexedChunk
from ...retrieval.access import open_to
from ...retrieval.base import Entry
from ...retrieval.bm25 import BODY, HEADING, K1, TITLE, B, Bm25Words, idf
from ...retrieval.legs import ChunkWords, words_in
from ...retrieval.outside import Outside, Place, name_of, named_rows, place_in, places_of
from ...retrieval.settling import leaving
from .server import Found, Server

PART = "words"
ROUNDS = 5
"""Times a search asks for four times as many, where hits are not of the rows any more."""
MOST = 10_000
"""Hits a server gives at most (``index.max_result_window``)."""


class OpenSearchWords(Bm25Words, Outside):
    """``index``: what the index there is called, before the alias. ``refresh``: when a write is
    done, as OpenSearch's parameter of that name; with ``False`` a document may be missing from
    searches for a second. ``index_settings``: such as ``{"number_of_replicas": 1}``. All other
    options go to ``opensearchpy.OpenSearch``.
    """

    kind = PART

    def __init__(
        self,
        using: str,
        *,
        index: str = "ai-answers",
        refresh: bool | str = True,
        index_settings: Mapping[str, Any] | None = None,
        **client: Any,
    ) -> None:
        super().__init__(using)
        self.server = Server(
            prefix=index, refresh=refresh, index_settings=index_settings or {}, options=client
        )

    def put(self, index: str, rows: Iterable[ChunkWords]) -> None:
        """Nothing: they were sent before the transaction."""

    def remove(self, index: str, chunk_ids: Sequence[int]) -> None:
        chunks = IndexedChunk.objects.using(self.using).filter(pk__in=chunk_ids)
        leaving(self, index, chunks, part=PART)

    def part_of(self, entry: Entry) -> str:
        return PART

    def send(self, index: str, entries: Sequence[Entry]) -> None:
        self.server.put(index, (pair for entry in entries for pair in _bodies(index, entry)))

    def withdraw(self, index: str, part: str, places: Sequence[Place]) -> None:
        self.server.delete(index, (name_of(index, part, place) for place in places))

    def total(self, index: str) -> int:
        total = self.server.total(index)
        if total is None:
            chunks = IndexedChunk.objects.using(self.using).filter(document__index=index)
            if chunks.exists():
                raise RetrievalError(
                    f"OpenSearch has no {self.server.name(index)!r}; fill it again with "
                    f"get_index({index!r}).fill()."
                )
        return total or 0

    def counts(self, index: str, forms: Iterable[str]) -> dict[str, int]:
        return self.server.counts(index, list(dict.fromkeys(forms)))

    def open_counts(
        self, index: str, forms: Iterable[str], *, tags: frozenset[str], up_to: int
    ) -> dict[str, int]:
        counts = self.server.counts(index, list(forms), tags=tags)
        return {form: min(count, up_to) for form, count in counts.items()}

    def match(
        self,
        counts: Mapping[str, int],
        *,
        total: int,
        index: str,
        tags: frozenset[str],
        limit: int,
    ) -> dict[int, float]:
        rarest = sorted(counts, key=lambda form: (counts[form], form))
        weights = {form: idf(total, counts[form]) for form in rarest}
        wanted = limit
        scores: dict[int, float] = {}
        for _ in range(ROUNDS):
            wanted = min(wanted, MOST)
            ask = partial(self.server.best, index, weights, tags=tags, limit=wanted)
            found, here = named_rows(self.using, index, ask, place_of=_place)
            is_open = open_to(self.using, list(here.values()), tags)
            scores = {
                here[place]: _score(one, weights)
                for one in found
                if (place := _place(one)) in here and here[place] in is_open
            }
            if len(scores) >= limit or len(found) < wanted or wanted == MOST:
                break
            wanted *= 4
        best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
        return dict(best[:limit])


def _bodies(index: str, entry: Entry) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield the id and the body of each chunk."""
    for place, (title, heading, body) in zip(places_of(entry), words_in(entry), strict=True):
        words = [*title * TITLE, *heading * HEADING, *body * BODY]
        yield (
            name_of(index, PART, place),
            {
                "words": " ".join(words),
                "length": len(title) + len(heading) + len(body),
                "tags": sorted(entry.document.access_tags),
                "place": place._asdict(),
            },
        )


def _place(found: Found) -> Place | None:
    return place_in(found.place)


def _score(found: Found, weights: Mapping[str, float]) -> float:
    """Return the BM25 of a chunk as SQLite and PostgreSQL have it."""
    times = Counter(found.words.split(" "))
    damping = K1 * (1 - B + B * found.length / found.average)
    return sum(
        weight * n * (K1 + 1) / (n + damping)
        for form, weight in weights.items()
        if (n := times[form])
    )
