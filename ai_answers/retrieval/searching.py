"""From a question to the hits an asker may read: the door everything else searches through.

In: the alias of an index, a query, an asker. Out: hits, best first, every one allowed at this
moment. What an asker may not see leaves no trace, neither in the hits nor in their number.
``explain`` also says what became of everything else that was found; that is for those who run
the site and must not be shown to the asker.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..sources.access import access_tags_of, viewable
from ..sources.languages import closest, serves
from ..values import Asker, Hit, ObjectKey
from .aliases import get_index, index_settings
from .rerankers import Reranked, rerank

logger = logging.getLogger(__name__)

POOL_FACTOR = 4
"""Chunks asked of the index for one that is wanted: some go for access, some for language."""
RERANKED = 20
"""Chunks a reranker is given, at least: it cannot lift what it does not see."""
OTHER_LANGUAGE = 0.8
"""What a hit in a language that is not the asker's counts in the order."""
STILL_RELEVANT = 0.5
"""Share of an object's best score that its version in the asker's language needs to stand for
it: somebody may ask in another language than the page he is on."""

Fate = Literal["hit", "closed", "other_language", "beyond_pool", "reranked_away", "low", "beyond"]
"""What became of a chunk that was found: ``closed`` to the asker or gone from its source; its
object answers in an ``other_language``; ``beyond_pool``: behind what is reordered;
``reranked_away``: the reranker left it out; ``low``: under ``min_score``; ``beyond``: behind
``amount``."""
_Place = tuple[ObjectKey, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A chunk that was found, and what became of it."""

    hit: Hit
    fate: Fate


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A search with its reasons."""

    hits: tuple[Hit, ...]
    """What the asker gets, best first."""
    candidates: tuple[Candidate, ...]
    """All that was found, the hits first, then the rest in the order of its scores."""
    notes: tuple[str, ...] = ()
    """What went other than set up: a leg or the reranker that failed."""
    score_kind: str = ""
    """Of the hits."""

    @property
    def kinds(self) -> list[str]:
        """Return the kinds of score that were given, in the order they come about."""
        there_are = {kind for candidate in self.candidates for kind in candidate.hit.scores}
        known = ("bm25", "cosine", "fused")
        return [
            *(kind for kind in known if kind in there_are),
            *sorted(there_are.difference(known)),
        ]


def score_kind_of(alias: str) -> str:
    """Return the kind of score that searches in ``alias`` end with when nothing fails."""
    return index_settings(alias).reranker or get_index(alias).score_kind


def search(
    alias: str, query: str, *, asker: Asker, amount: int = 5, min_score: float | None = None
) -> list[Hit]:
    """Return at most ``amount`` chunks for ``query`` that ``asker`` may read, best first.

    An object appears in one language: the asker's where that version answers as well, else that
    of its best hit. ``min_score`` drops hits whose own score is lower; it is left out when a
    failure has brought scores of another kind. Sync; asks the database.
    Raises ``ValueError`` for an ``amount`` below 1, ``ConfigurationError``, ``RetrievalError``.
    """
    explanation = explain(alias, query, asker=asker, amount=amount, min_score=min_score)
    return list(explanation.hits)


def explain(
    alias: str, query: str, *, asker: Asker, amount: int = 5, min_score: float | None = None
) -> Explanation:
    """Search as ``search`` does and keep what became of everything that was found."""
    if amount < 1:
        raise ValueError(f"amount must be at least 1, not {amount!r}.")
    reranker = index_settings(alias).reranker
    wanted = max(amount, RERANKED) if reranker else amount
    found, allowed = _find(alias, query, asker=asker, wanted=wanted)
    fates: dict[_Place, Fate] = {}
    _mark(fates, found, allowed, "closed")
    readable = in_one_language(allowed, asker.language)
    _mark(fates, allowed, readable, "other_language")
    pool = readable[:wanted]
    _mark(fates, readable, pool, "beyond_pool" if reranker else "beyond")
    reranked = rerank(reranker, query, pool) if reranker else Reranked(pool)
    ordered = reranked.hits
    _mark(fates, pool, ordered, "reranked_away")
    kind = ordered[0].score_kind if ordered else ""
    # Scores of another kind are on another scale: the gate would cut at random.
    is_comparable = kind == score_kind_of(alias)
    floor = min_score if min_score is not None and is_comparable else float("-inf")
    high = [hit for hit in ordered if hit.score >= floor]
    _mark(fates, ordered, high, "low")
    hits = high[:amount]
    _mark(fates, high, hits, "beyond")
    last_seen = {_place(hit): hit for hit in (*found, *ordered)}
    rest = [Candidate(hit=last_seen[place], fate=fate) for place, fate in fates.items()]
    return Explanation(
        hits=tuple(hits),
        candidates=(
            *(Candidate(hit=hit, fate="hit") for hit in hits),
            *sorted(rest, key=lambda candidate: -candidate.hit.score),
        ),
        notes=tuple(_notes(alias, found, reranker if reranked.failed else None)),
        score_kind=kind,
    )


def _find(alias: str, query: str, *, asker: Asker, wanted: int) -> tuple[list[Hit], list[Hit]]:
    """Ask the index until ``wanted`` chunks are left; return all and those the asker may read."""
    index, tags = get_index(alias), access_tags_of(asker)
    limit = max(wanted * POOL_FACTOR, 20)
    verdicts: dict[ObjectKey, bool] = {}
    while True:
        found = index.search(query, tags=tags, limit=limit, language=asker.language)
        _ask(found, asker, verdicts)
        allowed = [hit for hit in found if verdicts[hit.chunk.key]]
        if len(in_one_language(allowed, asker.language)) >= wanted or len(found) < limit:
            return found, allowed
        limit *= POOL_FACTOR


def _notes(alias: str, found: Sequence[Hit], failed_reranker: str | None) -> Iterator[str]:
    expected, kind = get_index(alias).score_kind, found[0].score_kind if found else ""
    if kind and kind != expected:
        logger.info("Searching index %r: scores are %r instead of %r.", alias, kind, expected)
        yield f"scores are {kind!r} instead of {expected!r}"
    if failed_reranker is not None:
        yield f"reranker {failed_reranker!r} failed; the order is the index's"


def _mark(
    fates: dict[_Place, Fate], before: Sequence[Hit], after: Sequence[Hit], fate: Fate
) -> None:
    """Note the fate of hits that a step left out."""
    kept = set(map(_place, after))
    fates.update({place: fate for place in map(_place, before) if place not in kept})


def _place(hit: Hit) -> _Place:
    return hit.chunk.key, hit.chunk.language, hit.chunk.position


def in_one_language(hits: Sequence[Hit], wanted: str) -> list[Hit]:
    """Keep one language an object and put those the asker reads a little forward."""
    best: dict[ObjectKey, dict[str, float]] = {}
    for hit in hits:
        scores = best.setdefault(hit.chunk.key, {})
        scores[hit.chunk.language] = max(hit.score, scores.get(hit.chunk.language, hit.score))
    chosen = {key: _language(scores, wanted) for key, scores in best.items()}
    kept = [hit for hit in hits if hit.chunk.language == chosen[hit.chunk.key]]
    return sorted(kept, key=lambda hit: -_weight(hit, wanted))  # stable: ties keep their order


def _language(scores: dict[str, float], wanted: str) -> str:
    first = max(scores, key=lambda language: scores[language])
    own = closest(scores, wanted)
    if own is not None and scores[own] >= scores[first] * STILL_RELEVANT:
        return own
    return first


def _weight(hit: Hit, wanted: str) -> float:
    return hit.score * (1.0 if serves(hit.chunk.language, wanted) else OTHER_LANGUAGE)


def _ask(hits: Sequence[Hit], asker: Asker, verdicts: dict[ObjectKey, Any]) -> None:
    """Add a verdict for each object not asked about yet."""
    new = {hit.chunk.key for hit in hits} - verdicts.keys()
    allowed = viewable(new, asker)
    verdicts.update({key: key in allowed for key in new})
