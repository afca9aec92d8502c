"""Merging what the words say with what the vectors say.

In: each leg's scores for the same chunks. Out: one score from 0 to 1. Each leg is put on a scale
of its own that does not depend on who else was found: the words on what a chunk with every word
of the query would have, the vectors on how far a cosine stands out from what is usual. So a leg
that has nothing to say (a question in another language, an embedding that does not know the
language) gives low scores to everything and cannot outvote the other. No Django, no I/O.
"""

from __future__ import annotations

from .legs import Nearest, Ranked

WORDS = 0.68
"""Weight of the words; the vectors have the rest. Measured with a strong and a weak embedding
in five languages and across two, by ``tests/benchmarks/bench_retrieval.py``: from 0.66 to 0.7
no corpus falls below 0.99 of its better leg."""
SPREADS = 8.0
"""Standard deviations above the average cosine that count as full agreement."""


def fuse(ranked: Ranked, nearest: Nearest, *, words: float = WORDS) -> list[tuple[int, float]]:
    """Return chunk ids with their fused score, best first, equal scores by id.

    ``words``: the weight of the words, from 0 to 1. A chunk with nothing to say for it in either
    leg is left out.
    """
    ideal = ranked.ideal
    lexical = {i: min(s / ideal, 1.0) for i, s in ranked.scores.items()} if ideal > 0 else {}
    dense = _standing_out(nearest)
    scores = {
        i: words * lexical.get(i, 0.0) + (1 - words) * dense.get(i, 0.0) for i in {*lexical, *dense}
    }
    found = [(i, score) for i, score in scores.items() if score > 0]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def _standing_out(nearest: Nearest) -> dict[int, float]:
    if not nearest.spread:  # nothing to compare it with
        return {i: max(cosine, 0.0) for i, cosine in nearest.cosines.items()}
    return {
        i: min(max((cosine - nearest.usual) / (nearest.spread * SPREADS), 0.0), 1.0)
        for i, cosine in nearest.cosines.items()
    }
