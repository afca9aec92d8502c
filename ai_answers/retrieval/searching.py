"""From a question to the hits an asker may read: the door everything else searches through.

In: the alias of an index, a query, an asker. Out: hits, best first, every one allowed at this
moment. What an asker may not see leaves no trace, neither in the hits nor in their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..sources.access import access_tags_of, viewable
from ..sources.languages import closest, serves
from ..values import Asker, Hit, ObjectKey
from .aliases import get_index, index_settings
from .rerankers import rerank

POOL_FACTOR = 4
"""Chunks asked of the index for one that is wanted: some go for access, some for language."""
OTHER_LANGUAGE = 0.8
"""What a hit in a language that is not the asker's counts in the order."""
STILL_RELEVANT = 0.5
"""Share of an object's best score that its version in the asker's language needs to stand for
it: somebody may ask in another language than the page he is on."""


def search(
    alias: str, query: str, *, asker: Asker, amount: int = 5, min_score: float | None = None
) -> list[Hit]:
    """Return at most ``amount`` chunks for ``query`` that ``asker`` may read, best first.

    An object appears in one language: the asker's where that version answers as well, else that
    of its best hit. ``min_score`` drops hits whose own score is lower. Sync; asks the database.
    Raises ``ValueError`` for an ``amount`` below 1, ``ConfigurationError``, ``RetrievalError``.
    """
    if amount < 1:
        raise ValueError(f"amount must be at least 1, not {amount!r}.")
    reranker = index_settings(alias).reranker
    index, tags = get_index(alias), access_tags_of(asker)
    wanted = amount * POOL_FACTOR if reranker else amount
    limit = max(wanted * POOL_FACTOR, 20)
    verdicts: dict[ObjectKey, bool] = {}
    while True:
        found = index.search(query, tags=tags, limit=limit, language=asker.language)
        _ask(found, asker, verdicts)
        hits = [hit for hit in found if verdicts[hit.chunk.key]]
        hits = in_one_language(hits, asker.language)
        if len(hits) >= wanted or len(found) < limit:
            break
        limit *= POOL_FACTOR
    hits = hits[:wanted]
    if reranker:
        hits = rerank(reranker, query, hits)
    if min_score is not None:
        hits = [hit for hit in hits if hit.score >= min_score]
    return hits[:amount]


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
