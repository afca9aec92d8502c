"""Full text on SQLite: the FTS5 table beside the chunks.

In: words from ``words``. Out: chunk ids with BM25 scores, higher being better. All indexes of a
database share the table, and so the frequencies that BM25 counts with. It is written in the
transaction that writes the chunks. Words are letters and digits and are quoted on top, so no
query text is ever FTS5 syntax. All SQL that only SQLite understands is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.db import connections

from .bm25 import BODY, HEADING, TITLE, Bm25Words
from .legs import ChunkWords

FULLTEXT = "ai_answers_fulltext"

OPEN = f"""
FROM {FULLTEXT}
CROSS JOIN ai_answers_indexedchunk AS chunk ON chunk.id = {FULLTEXT}.rowid
CROSS JOIN ai_answers_indexeddocument AS document ON document.id = chunk.document_id
WHERE {FULLTEXT} MATCH %s AND document."index" = %s
AND (NOT EXISTS (SELECT 1 FROM ai_answers_indexedtag AS tag WHERE tag.document_id = document.id)
     {{allowed}})
"""  # noqa: S608 - constants of this module
SEARCH = f"""
SELECT {FULLTEXT}.rowid, -{FULLTEXT}.rank {OPEN}
AND {FULLTEXT}.rank MATCH 'bm25({TITLE}, {HEADING}, {BODY})'
ORDER BY {FULLTEXT}.rank LIMIT %s
"""
COUNT = f"SELECT count(*) FROM (SELECT 1 {OPEN} LIMIT %s)"  # noqa: S608
ALLOWED = """OR EXISTS (SELECT 1 FROM ai_answers_indexedtag AS tag
     WHERE tag.document_id = document.id AND tag.tag IN ({}))"""


class SqliteWords(Bm25Words):
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

    def remove_orphans(self, index: str) -> None:
        with self._cursor() as cursor:
            cursor.execute(
                f"DELETE FROM {FULLTEXT} WHERE rowid NOT IN "  # noqa: S608
                "(SELECT id FROM ai_answers_indexedchunk)"
            )

    def total(self, index: str) -> int:
        with self._cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {FULLTEXT}_docsize")  # noqa: S608
            return cursor.fetchone()[0]

    def counts(self, index: str, forms: Iterable[str]) -> dict[str, int]:
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

    def open_counts(
        self, index: str, forms: Iterable[str], *, tags: frozenset[str], up_to: int
    ) -> dict[str, int]:
        counts: dict[str, int] = {}
        with self._cursor() as cursor:
            for form in forms:
                given = [f'"{form}"', index, *sorted(tags), up_to]
                cursor.execute(COUNT.format(allowed=_allowed(tags)), given)
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
        query = " OR ".join(f'"{form}"' for form in counts)
        given = [query, index, *sorted(tags), limit]
        with self._cursor() as cursor:
            cursor.execute(SEARCH.format(allowed=_allowed(tags)), given)
            return dict(cursor.fetchall())

    def _cursor(self):
        return connections[self.using].cursor()


def _allowed(tags: frozenset[str]) -> str:
    return ALLOWED.format(", ".join(["%s"] * len(tags))) if tags else ""
