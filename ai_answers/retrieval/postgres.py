"""Full text on PostgreSQL, ranked by BM25 as on SQLite.

PostgreSQL finds the chunks by its own index for full text (GIN over ``tsvector``), but its ranking
knows neither how rare a word is nor how long the texts are: 0.33 nDCG@10 on Cranfield against
0.39. So each chunk's length is kept beside its words, each word's number of chunks in a table of
its own, and the ranking is BM25 in SQL. The words are ours, stemmed by language as everywhere, and
so are the same on both databases. A word of the title is kept three times and one of a heading
twice, which is what their weights are.

Written in the transaction that writes the chunks; ``Tables`` has locked the index's state by
then, so that the counts have one writer at a time. All SQL that only PostgreSQL understands is
here.

Tried and dropped, on 20,000 and 100,000 chunks: frequencies by unnesting each ``tsvector`` (20
times slower), ``ts_rank`` for a first cut and exact scores for the rest (three times slower), a
table with a row a word and chunk (four times the size).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from django.db import connections

from .bm25 import BODY, HEADING, K1, TITLE, B, Bm25Words, idf
from .legs import ChunkWords

WORDS = "ai_answers_words"
COUNTS = "ai_answers_wordcount"
TOTAL = ""
"""The word whose row counts all chunks, and adds up their lengths."""
MOST_TIMES = 64
"""Times a word counts in one chunk, at most."""
LAST_POSITION = 16_383
"""PostgreSQL keeps no position beyond it."""
CHEAP = 10_000
"""Chunks that may be scored without thinking about it."""
SURE = 20
"""Hits whose rank is exact, however many were asked for."""

# ``ts_rank`` of a single word that occurs n times, all weights being 1, is the sum of 1/i² for i
# up to n over its limit (calc_rank_or in PostgreSQL's tsrank.c). It only depends on n, so n can be
# read from it: there is no other way to a frequency without unpacking the whole vector.
LIMIT = 1.64493406685
RANKS = [sum_ / LIMIT for sum_ in accumulate(1 / n**2 for n in range(1, MOST_TIMES + 1))]
THRESHOLDS = ", ".join(
    f"{(low + high) / 2:.9f}" for low, high in zip([0.0, *RANKS], RANKS, strict=False)
)
TIMES = (
    (
        "width_bucket(ts_rank('{{1,1,1,1}}', words, quote_literal(%s)::tsquery)::float8, "
        f"ARRAY[{THRESHOLDS}]::float8[])"
    )
    .replace("{{", "{")
    .replace("}}", "}")
)

PUT = f"""
INSERT INTO {WORDS} (chunk_id, "index", length, tags, words)
SELECT given.chunk_id, %s, given.length, own.tags, given.words::tsvector
FROM unnest(%s::bigint[], %s::int[], %s::text[]) AS given(chunk_id, length, words)
CROSS JOIN LATERAL (
    SELECT array_agg(tag.tag::text) AS tags
    FROM ai_answers_indexedchunk AS chunk
    JOIN ai_answers_indexedtag AS tag ON tag.document_id = chunk.document_id
    WHERE chunk.id = given.chunk_id
) AS own
"""  # noqa: S608 - constants of this module
COUNT_UP = f"""
INSERT INTO {COUNTS} AS known ("index", word, chunks, length)
SELECT %s, given.* FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) AS given
ON CONFLICT ("index", word) DO UPDATE
SET chunks = known.chunks + excluded.chunks, length = known.length + excluded.length
"""  # noqa: S608
TAKE_OUT = f"""
WITH gone AS (
    DELETE FROM {WORDS} WHERE "index" = %s AND chunk_id = ANY(%s) RETURNING length, words
), fewer AS (
    SELECT lexeme AS word, count(*) AS chunks, 0 AS length FROM gone, unnest(words) GROUP BY 1
    UNION ALL SELECT '{TOTAL}', count(*), coalesce(sum(length), 0) FROM gone
)
UPDATE {COUNTS} AS known
SET chunks = known.chunks - fewer.chunks, length = known.length - fewer.length
FROM fewer WHERE known."index" = %s AND known.word = fewer.word
"""  # noqa: S608
RECOUNT = f"""
INSERT INTO {COUNTS} ("index", word, chunks, length)
SELECT %s, word, ndoc, 0 FROM ts_stat(format('SELECT words FROM {WORDS} WHERE "index" = %%L', %s))
UNION ALL
SELECT %s, '{TOTAL}', count(*), coalesce(sum(length), 0) FROM {WORDS} WHERE "index" = %s
"""  # noqa: S608
OPEN = f"""
FROM {WORDS} WHERE words @@ %s::tsquery AND "index" = %s AND (tags IS NULL OR tags && %s::text[])
"""
SEARCH = f"""
SELECT chunk_id, {{score}} AS score
FROM (
    SELECT chunk_id, words, {K1}::float8 * ({1 - B}::float8 + {B}::float8 * length / %s) AS damping
    {OPEN}
) AS candidate
ORDER BY score DESC, chunk_id LIMIT %s
"""  # noqa: S608
COUNT = f"SELECT count(*) FROM (SELECT 1 {OPEN} LIMIT %s) AS found"  # noqa: S608
# With no occurrence the frequency is 0 and so is the score; it never divides by nothing.
SCORE = f"%s::float8 * {TIMES} * {K1 + 1}::float8 / ({TIMES} + damping)"


class PostgresWords(Bm25Words):
    """The two tables for full text of one database."""

    def put(self, index: str, rows: Iterable[ChunkWords]) -> None:
        rows = list(rows)
        if not rows:
            return
        lengths = [len(row.title) + len(row.heading) + len(row.body) for row in rows]
        counts = Counter(word for row in rows for word in {*row.title, *row.heading, *row.body})
        words = sorted(counts)
        ids = [row.chunk_id for row in rows]
        with self._cursor() as cursor:
            cursor.execute(f"DELETE FROM {WORDS} WHERE chunk_id = ANY(%s)", [ids])  # noqa: S608
            cursor.execute(PUT, [index, ids, lengths, list(map(_vector, rows))])
            cursor.execute(
                COUNT_UP,
                [
                    index,
                    [TOTAL, *words],
                    [len(rows), *(counts[word] for word in words)],
                    [sum(lengths), *(0 for _ in words)],
                ],
            )

    def remove(self, index: str, chunk_ids: Sequence[int]) -> None:
        with self._cursor() as cursor:
            cursor.execute(TAKE_OUT, [index, list(chunk_ids), index])

    def remove_orphans(self, index: str) -> None:
        with self._cursor() as cursor:
            cursor.execute(
                f'DELETE FROM {WORDS} WHERE "index" = %s AND chunk_id NOT IN '  # noqa: S608
                "(SELECT id FROM ai_answers_indexedchunk)",
                [index],
            )
            cursor.execute(f'DELETE FROM {COUNTS} WHERE "index" = %s', [index])  # noqa: S608
            cursor.execute(RECOUNT, [index] * 4)

    def total(self, index: str) -> int:
        return self._total(index)[0]

    def counts(self, index: str, forms: Iterable[str]) -> dict[str, int]:
        with self._cursor() as cursor:
            cursor.execute(
                f'SELECT word, chunks FROM {COUNTS} WHERE "index" = %s AND word = ANY(%s) '  # noqa: S608
                f"AND chunks > 0 AND word <> '{TOTAL}'",
                [index, list(dict.fromkeys(forms))],
            )
            return dict(cursor.fetchall())

    def open_counts(
        self, index: str, forms: Iterable[str], *, tags: frozenset[str], up_to: int
    ) -> dict[str, int]:
        counts: dict[str, int] = {}
        with self._cursor() as cursor:
            for form in forms:
                cursor.execute(COUNT, [_quoted(form), index, sorted(tags), up_to])
                counts[form] = cursor.fetchone()[0]
        return {form: count for form, count in counts.items() if count}

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
        reached = list(accumulate(counts[form] for form in rarest))
        few = max(1, sum(n <= CHEAP for n in reached))
        found = self._score(rarest[:few], weights, index=index, tags=tags, limit=limit)
        # What holds none of these words cannot score more than the others give at most. So the
        # first hits are the right ones once they score that much.
        others = sum(weights[form] for form in rarest[few:]) * (K1 + 1)
        sure = list(found.values())[min(limit, SURE) - 1 :][:1]
        if others and (not sure or sure[0] < others):
            found = self._score(rarest, weights, index=index, tags=tags, limit=limit)
        return found

    def _score(
        self,
        needed: Sequence[str],
        weights: Mapping[str, float],
        *,
        index: str,
        tags: frozenset[str],
        limit: int,
    ) -> dict[int, float]:
        """Rank the chunks that hold one of ``needed`` by all words of ``weights``."""
        chunks, length = self._total(index)
        score = " + ".join([SCORE] * len(weights))
        given: list = [part for form, weight in weights.items() for part in (weight, form, form)]
        given += [max(length / max(chunks, 1), 1.0), _query(needed), index, sorted(tags), limit]
        with self._cursor() as cursor:
            cursor.execute(SEARCH.format(score=score), given)
            return dict(cursor.fetchall())

    def _total(self, index: str) -> tuple[int, int]:
        """Return how many chunks there are, and how many words in all of them."""
        with self._cursor() as cursor:
            cursor.execute(
                f'SELECT chunks, length FROM {COUNTS} WHERE "index" = %s AND word = %s',  # noqa: S608
                [index, TOTAL],
            )
            return cursor.fetchone() or (0, 0)

    def _cursor(self):
        return connections[self.using].cursor()


def _vector(row: ChunkWords) -> str:
    """Write the words of a chunk as a ``tsvector``: each as often as it counts."""
    positions: dict[str, list[int]] = {}
    weighted = ((row.title, TITLE), (row.heading, HEADING), (row.body, BODY))
    flat = (word for words, weight in weighted for word in words for _ in range(weight))
    for position, word in enumerate(flat, 1):
        there = positions.setdefault(word, [])
        # Beyond its last position PostgreSQL keeps one of each word.
        if len(there) < MOST_TIMES and (position <= LAST_POSITION or not there):
            there.append(min(position, LAST_POSITION))
    return " ".join(f"{_quoted(word)}:{','.join(map(str, at))}" for word, at in positions.items())


def _query(words: Iterable[str]) -> str:
    return " | ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
