"""What is asked of the OpenSearch server, and in which form.

In: the words and places of chunks. Out: counts, and the places of the best chunks with what they
hold. Words are sent as words, never as a query in anybody's syntax. Every failure becomes a
``RetrievalError`` without the server's text. No Django models; test it with a server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice
from typing import Any, NamedTuple

from ...exceptions import ConfigurationError, RetrievalError
from ...retrieval.trying import Rest, Resting

VERSION = 1
"""Of ``MAPPING``; part of the name on the server, so that another one starts empty."""
# One field for all words: those of the title stand in it three times, those of headings twice.
MAPPING = {
    "dynamic": False,
    "properties": {
        "words": {"type": "text", "analyzer": "whitespace", "index_options": "freqs"},
        "length": {"type": "integer"},
        "tags": {"type": "keyword"},
    },
}
AT_ONCE = 500
"""Chunks of one bulk request, and words of one that counts."""
MOST_WORDS = 1_000
"""Of a search; servers take 1,024 clauses unless they are set up otherwise."""
TIMEOUT_SECONDS = 10.0

resting = Rest()
"""Servers that have just failed on a search."""


class Found(NamedTuple):
    place: Mapping[str, Any]
    words: str
    """As they were sent."""
    length: int
    average: float
    """Length of all chunks there."""


class Server:
    """``options``: the arguments of ``opensearchpy.OpenSearch``, such as ``hosts``."""

    def __init__(
        self, *, prefix: str, refresh: bool | str, index_settings: Mapping[str, Any], options: Any
    ) -> None:
        self.prefix = prefix
        self.refresh = refresh
        self.index_settings = index_settings
        self.client = _client({"timeout": TIMEOUT_SECONDS, **options})
        # Addresses may have passwords in them.
        self.rests_as = sha256(str(options.get("hosts")).encode()).hexdigest()

    def name(self, index: str) -> str:
        """Return what ``index`` is called there: lower case, only letters, digits and hyphens."""
        plain = re.sub("[^a-z0-9]+", "-", index.lower()).strip("-")[:100]
        digest = "" if plain == index else sha256(index.encode()).hexdigest()[:8]
        return "-".join(filter(None, (self.prefix, plain, digest, str(VERSION))))

    def put(self, index: str, chunks: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """Write chunks by id; done when a search finds them, unless ``refresh`` says otherwise."""
        name = self.name(index)
        with self._asking(f"did not take chunks of {name!r}"):
            self._make(name)
            for some in _in_parts(chunks):
                lines = [line for key, body in some for line in ({"index": {"_id": key}}, body)]
                answer = self.client.bulk(body=lines, index=name, refresh=self.refresh)
                _all_written(answer)

    def delete(self, index: str, ids: Iterable[str]) -> None:
        """Take chunks out by id; those that are not there are no error."""
        name = self.name(index)
        with self._asking(f"did not delete chunks of {name!r}"):
            for some in _in_parts(ids):
                lines = [{"delete": {"_id": key}} for key in some]
                _all_written(self.client.bulk(body=lines, index=name), but=404)

    def total(self, index: str) -> int | None:
        """Return how many chunks there are; ``None`` where there is no such index."""
        from opensearchpy.exceptions import NotFoundError

        with self._asking("did not count", is_search=True):
            try:
                return self.client.count(index=self.name(index))["count"]
            except NotFoundError:
                return None

    def counts(
        self, index: str, words: Sequence[str], *, tags: frozenset[str] | None = None
    ) -> dict[str, int]:
        """Return how many chunks hold each word, those that any holds; ``tags``: open to them."""
        found: dict[str, int] = {}
        among = {} if tags is None else {"query": _open_to(tags)}
        for some in _in_parts(words):
            filters = {word: {"term": {"words": word}} for word in some}
            body = {"size": 0, "aggs": {"words": {"filters": {"filters": filters}}}} | among
            buckets = self._search(index, body)["aggregations"]["words"]["buckets"]
            found |= {word: b["doc_count"] for word, b in buckets.items() if b["doc_count"]}
        return found

    def best(
        self, index: str, words: Iterable[str], *, tags: frozenset[str], limit: int
    ) -> list[Found]:
        """Return the best chunks open to ``tags`` with one of ``words``.

        ``words``: the most telling first; behind the first thousand they are left out.
        """
        query = " ".join(islice(words, MOST_WORDS))
        body = {
            "size": limit,
            "track_total_hits": False,
            "query": {
                "bool": {
                    "must": {"match": {"words": {"query": query, "operator": "or"}}},
                    "filter": _open_to(tags),
                }
            },
            "aggs": {"all": {"global": {}, "aggs": {"length": {"avg": {"field": "length"}}}}},
        }
        answer = self._search(index, body)
        average = answer["aggregations"]["all"]["length"]["value"] or 1.0
        rows = (hit["_source"] for hit in answer["hits"]["hits"])
        return [Found(row["place"], row["words"], row["length"], average) for row in rows]

    def _search(self, index: str, body: Mapping[str, Any]) -> Any:
        with self._asking("did not search", is_search=True):
            return self.client.search(index=self.name(index), body=body)

    def _make(self, name: str) -> None:
        """Make the index there if it is missing; a bulk request would make it without mapping."""
        from opensearchpy.exceptions import RequestError

        if self.client.indices.exists(index=name):
            return
        try:
            body = {"mappings": MAPPING, "settings": {"index": dict(self.index_settings)}}
            self.client.indices.create(index=name, body=body)
        except RequestError as error:
            if error.error != "resource_already_exists_exception":  # somebody was faster
                raise

    @contextmanager
    def _asking(self, what: str, *, is_search: bool = False) -> Iterator[None]:
        """Turn failures into ours; a visitor does not wait for a server that has just failed."""
        from opensearchpy.exceptions import OpenSearchException

        try:
            if is_search:
                resting.check(self.rests_as)
            yield
        except (OpenSearchException, Resting) as error:
            if is_search and not isinstance(error, Resting):
                resting.failed(self.rests_as)
            # Without the server's text: it may quote what was searched for.
            raise RetrievalError(f"The OpenSearch server {what}.") from error


def _client(options: Mapping[str, Any]) -> Any:
    try:
        from opensearchpy import OpenSearch
    except ImportError as error:
        raise ConfigurationError(
            "OpenSearchWords needs the package opensearch-py: "
            "pip install django-ai-answers[opensearch]"
        ) from error
    return OpenSearch(**options)


def _open_to(tags: frozenset[str]) -> dict[str, Any]:
    ways: list[Any] = [{"bool": {"must_not": {"exists": {"field": "tags"}}}}]
    if tags:
        ways.append({"terms": {"tags": sorted(tags)}})
    return {"bool": {"should": ways, "minimum_should_match": 1}}


def _in_parts(things: Iterable[Any]) -> Iterator[list[Any]]:
    part: list[Any] = []
    for thing in things:
        part.append(thing)
        if len(part) == AT_ONCE:
            yield part
            part = []
    if part:
        yield part


def _all_written(answer: Any, *, but: int | None = None) -> None:
    statuses = [next(iter(item.values()))["status"] for item in answer["items"]]
    failed = [status for status in statuses if status >= 300 and status != but]
    if failed:
        raise RetrievalError(f"OpenSearch refused {len(failed)} chunks, status {failed[0]}.")
