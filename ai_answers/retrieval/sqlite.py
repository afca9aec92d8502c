"""Full text on SQLite: the FTS5 table beside the chunks.

In: words from ``words``. Out: chunk ids with BM25 scores, higher being better. All indexes of a
database share the table, and so the frequencies that BM25 counts with. It is
written in the transaction that writes the chunks. Words are letters and digits and are quoted
on top, so no query text is ever FTS5 syntax. All SQL that only SQLite understands is here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from django.db import connections

from .legs import ChunkWords, Ranked, WordsLeg
from .spelling import spellings
from .words import QueryWord, stem_once

FULLTEXT = "ai_answers_fulltext"
# A word of the title says more about a chunk than one of its heading, and that than one of its
# text.
WEIGHTS = "bm25(3.0, 2.0, 1.0)"
# In more than this share of all chunks a word tells nothing apart, and scoring all of them is
# what makes a search slow.
COMMON = 0.4
RESPELT = 3
"""Words of one query that are looked for in another spelling."""

SEARCH = f"""
SELECT {FULLTEXT}.rowid, -{FULLTEXT}.rank
FROM {FULLTEXT}
CROSS JOIN ai_answers_indexedchunk AS chunk ON chunk.id = {FULLTEXT}.rowid
CROSS JOIN ai_answers_indexeddocument AS document ON document.id = chunk.document_id
WHERE {FULLTEXT} MATCH %s AND {FULLTEXT}.rank MATCH '{WEIGHTS}' AND document."index" = %s
AND (NOT EXISTS (SELECT 1 FROM ai_answers_indexedtag AS tag WHERE tag.document_id = document.id)
     {{allowed}})
ORDER BY {FULLTEXT}.rank LIMIT %s
"""  # noqa: S608 - constants of this module
ALLOWED = """OR EXISTS (SELECT 1 FROM ai_answers_indexedtag AS tag
     WHERE tag.document_id = document.id AND tag.tag IN ({}))"""


class SqliteWords(WordsLeg):
    """The full-text table of one database."""

    def put(self, index: str, rows: Iterable[ChunkWords]) -> None:
        with self._cursor() as cursor:
            # REPLACE: after a ``flush`` chunk ids start anew while this table kept its rows.
            cursor.executemany(
                f"INSERT OR REPLACE INTO {FULLTEXT} (rowid, title, heading, body) "  # noqa: S608
                "VALUES (%s, %s, %s, %s)",
                [(row.chunk_id, *map(" ".join, row[1:])) for row in rows],
            )

    def remove(self, index: str, chunk_ids: Sequence[int]) -> None:
        with self._cursor() as cursor:
            cursor.executemany(
                f"DELETE FROM {FULLTEXT} WHERE rowid = %s",  # noqa: S608
                [(chunk_id,) for chunk_id in chunk_ids],
            )

    def remove_orphans(self) -> None:
        with self._cursor() as cursor:
            cursor.execute(
                f"DELETE FROM {FULLTEXT} WHERE rowid NOT IN "  # noqa: S608
                "(SELECT id FROM ai_answers_indexedchunk)"
            )

    def search(
        self,
        words: Sequence[QueryWord],
        *,
        index: str,
        tags: frozenset[str],
        limit: int,
        respell_in: Sequence[str] = (),
    ) -> Ranked:
        total = self._total()
        if not total:
            return Ranked(scores={}, ideal=0.0)
        counts = self._counts(form for word in words for form in word.forms)
        ideal = sum(idf(total, max(counts.get(form, 0) for form in w.forms)) for w in words)
        if respell_in:
            unknown = [word for word in words if not any(map(counts.get, word.forms))]
            for word in unknown[:RESPELT]:
                counts |= self._respelt(word, respell_in)
        known = list(counts)
        telling = [form for form in known if counts[form] <= total * COMMON] or known
        if not telling:
            return Ranked(scores={}, ideal=ideal)
        scores = self._match(telling, index=index, tags=tags, limit=limit)
        if not scores and len(telling) < len(known):
            # What tells things apart is in closed chunks only, and must not hide the open ones.
            scores = self._match(known, index=index, tags=tags, limit=limit)
        return Ranked(scores=scores, ideal=ideal)

    def _match(
        self, forms: Iterable[str], *, index: str, tags: frozenset[str], limit: int
    ) -> dict[int, float]:
        """Return the BM25 of the best open chunks that hold one of ``forms``, best first."""
        match = " OR ".join(f'"{form}"' for form in dict.fromkeys(forms))
        allowed = ALLOWED.format(", ".join(["%s"] * len(tags))) if tags else ""
        with self._cursor() as cursor:
            cursor.execute(SEARCH.format(allowed=allowed), [match, index, *sorted(tags), limit])
            return dict(cursor.fetchall())

    def _total(self) -> int:
        with self._cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {FULLTEXT}_docsize")  # noqa: S608
            return cursor.fetchone()[0]

    def _counts(self, forms: Iterable[str]) -> dict[str, int]:
        """Return how many chunks hold each of those forms that any chunk holds."""
        forms = list(dict.fromkeys(forms))
        counts: dict[str, int] = {}
        with self._cursor() as cursor:
            for start in range(0, len(forms), 500):
                batch = forms[start : start + 500]
                places = ", ".join(["%s"] * len(batch))
                cursor.execute(
                    f"SELECT term, doc FROM {FULLTEXT}_terms WHERE term IN ({places})",  # noqa: S608
                    batch,
                )
                counts.update(cursor.fetchall())
        return counts

    def _respelt(self, word: QueryWord, languages: Sequence[str]) -> dict[str, int]:
        """Return the most frequent word near ``word``, with its count.

        Stems first: that is a few hundred look-ups, while every other spelling of the whole
        word has to be cut to its stem before.
        """
        counts = self._counts(sorted({near for form in word.forms for near in spellings(form)}))
        if not counts:
            near = spellings(word.surface)
            counts = self._counts(
                sorted({stem_once(other, language) for language in languages for other in near})
            )
        best = max(counts, key=lambda form: (counts[form], form), default=None)
        return {} if best is None else {best: counts[best]}

    def _cursor(self):
        return connections[self.using].cursor()


def idf(total: int, count: int) -> float:
    """Return what BM25 gives a word that ``count`` of ``total`` chunks hold; never negative."""
    return max(math.log((total - count + 0.5) / (count + 0.5)), 1e-6)
