"""Which chunks are open to an asker, by the tags of their documents.

In: chunk ids and tags. Out: those that are open, as the index knows it; ``searching`` asks the
sources themselves afterwards. To be tested through any index.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..models import IndexedChunk

BATCH = 500
"""Values in one ``IN``: every database takes that many."""


def open_to(using: str, chunk_ids: Sequence[int], tags: frozenset[str]) -> set[int]:
    """Return those chunks whose document has no tags or one of ``tags``."""
    found: set[int] = set()
    for start in range(0, len(chunk_ids), BATCH):
        some = chunk_ids[start : start + BATCH]
        rows = IndexedChunk.objects.using(using).filter(pk__in=some)
        tagged = rows.filter(document__tags__isnull=False)
        closed = set(tagged.values_list("pk", flat=True))
        if closed and tags:
            closed -= set(tagged.filter(document__tags__tag__in=tags).values_list("pk", flat=True))
        found |= set(some) - closed
    return found
