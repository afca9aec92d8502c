"""BM25 over words of our own: what the full text of every database has in common.

In: the words of a query. Out: chunks that hold one of them, ranked as FTS5 ranks: k1 1.2, b 0.75,
a word of the title counting three times, one of a heading twice. A leg adds how its database
counts and matches. To be tested through ``DatabaseIndex``.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from .legs import Ranked, WordsLeg
from .spelling import spellings
from .words import QueryWord, stem_once

# A word of the title says more about a chunk than one of its heading, and that than one of its
# text.
TITLE, HEADING, BODY = 3, 2, 1
K1, B = 1.2, 0.75
# In more than this share of all chunks a word tells nothing apart, and scoring all of them is
# what makes a search slow.
COMMON = 0.4
RESPELT = 3
"""Words of one query that are looked for in another spelling."""
FREQUENT = 100
"""Open chunks beyond which no spelling is counted further."""


class Bm25Words(WordsLeg):
    """A leg for words that only lacks the SQL."""

    @abstractmethod
    def total(self, index: str) -> int:
        """Return how many chunks the counts are about."""

    @abstractmethod
    def counts(self, index: str, forms: Iterable[str]) -> dict[str, int]:
        """Return how many chunks hold each of those forms that any chunk holds."""

    @abstractmethod
    def open_counts(
        self, index: str, forms: Iterable[str], *, tags: frozenset[str], up_to: int
    ) -> dict[str, int]:
        """Return the same for the chunks open to ``tags``, each counted no further than ``up_to``.

        What a search does may depend on these alone, or it says what stands in closed chunks.
        """

    @abstractmethod
    def match(
        self,
        counts: Mapping[str, int],
        *,
        total: int,
        index: str,
        tags: frozenset[str],
        limit: int,
    ) -> dict[int, float]:
        """Return the BM25 of the best open chunks that hold one of ``counts``, best first."""

    def search(
        self,
        words: Sequence[QueryWord],
        *,
        index: str,
        tags: frozenset[str],
        limit: int,
        respell_in: Sequence[str] = (),
    ) -> Ranked:
        total = self.total(index)
        if not total:
            return Ranked(scores={}, ideal=0.0)
        counts = self.counts(index, (form for word in words for form in word.forms))
        ideal = sum(idf(total, max(counts.get(form, 0) for form in w.forms)) for w in words)
        if respell_in:
            known = self.open_counts(index, counts, tags=tags, up_to=1)
            unknown = [word for word in words if not any(map(known.get, word.forms))]
            for word in unknown[:RESPELT]:
                counts |= self._respelt(index, word, respell_in, tags)
        telling = {form: n for form, n in counts.items() if n <= total * COMMON}
        scores: dict[int, float] = {}
        # Closed chunks must not decide what is common, so where there is room, all words count.
        for used in (telling, counts) if telling != counts else (counts,):
            if used and len(scores) < limit:
                scores = self.match(used, total=total, index=index, tags=tags, limit=limit)
        return Ranked(scores=scores, ideal=ideal)

    def _respelt(
        self, index: str, word: QueryWord, languages: Sequence[str], tags: frozenset[str]
    ) -> dict[str, int]:
        """Return the word near ``word`` that most open chunks hold, with its count.

        Stems first: that is a few hundred look-ups, while every other spelling of the whole
        word has to be cut to its stem before.
        """
        stems = {near for form in word.forms for near in spellings(form)}
        found = self._most_frequent(index, stems, tags)
        if not found:
            near = spellings(word.surface)
            stems = {stem_once(other, language) for language in languages for other in near}
            found = self._most_frequent(index, stems, tags)
        return found

    def _most_frequent(self, index: str, forms: set[str], tags: frozenset[str]) -> dict[str, int]:
        counts = self.counts(index, sorted(forms))
        is_open = self.open_counts(index, counts, tags=tags, up_to=FREQUENT)
        best = max(is_open, key=lambda form: (is_open[form], form), default=None)
        return {} if best is None else {best: counts[best]}


def idf(total: int, count: int) -> float:
    """Return what BM25 gives a word that ``count`` of ``total`` chunks hold; never negative."""
    return max(math.log((total - count + 0.5) / (count + 0.5)), 1e-6)
