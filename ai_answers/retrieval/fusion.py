"""Merging what the words say with what the vectors say.

In: each leg's scores for the same chunks. Out: one score from 0 to 1. Both legs are put on a
scale of their own that does not depend on who else was found, then weighted by how much each
has to say about this query. No Django, no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

SPREADS = 8.0
"""Standard deviations above the average cosine that count as full agreement."""


def fuse(
    words: Mapping[int, float],
    ideal: float,
    meaning: Mapping[int, float],
    cosines: np.ndarray | None,
) -> list[tuple[int, float]]:
    """Return chunk ids with their fused score, best first, equal scores by id.

    ``words``: BM25 scores; ``ideal``: of a chunk that holds every word once. ``meaning``:
    cosines of the same and further chunks; ``cosines``: of all chunks, to know what is usual.
    """
    lexical = {i: min(score / ideal, 1.0) for i, score in words.items()} if ideal > 0 else {}
    dense: dict[int, float] = {}
    if cosines is not None and len(cosines) == 1:
        dense = {i: max(c, 0.0) for i, c in meaning.items()}  # nothing to compare it with
    elif cosines is not None and len(cosines):
        usual, spread = float(cosines.mean()), float(cosines.std()) or 1.0
        dense = {
            i: min(max((c - usual) / (spread * SPREADS), 0.0), 1.0) for i, c in meaning.items()
        }
    scores = {i: lexical.get(i, 0.0) * 0.5 + dense.get(i, 0.0) * 0.5 for i in {*lexical, *dense}}
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
