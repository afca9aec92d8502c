"""LangChain vector stores as ``vector_store`` uses them: they take vectors that are there already.

In: chunks named by what never changes about them, and their vectors. Out: the same names, nearest
first. No database; feed it an ``InMemoryVectorStore`` to test it.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from ..conf import app_settings, import_part
from ..exceptions import ConfigurationError, EmbeddingFailed, RetrievalError
from .base import Entry
from .embeddings import embedding_identity
from .handed import Handed, handing, making
from .outside import Place, name_of, part_of_vectors, places_of
from .trying import Rest, Resting, with_retries
from .waiting import in_time

PLACEHOLDER = "{embedding}"
NAMES = ("embedding", "embedding_function", "embeddings")
"""What stores call the argument for their embedding."""
MOST_AT_ONCE = 1_000
"""Chunks of one call."""
TRIES = 3
"""Of a call that writes. Nobody waits for those."""
SEARCH_SECONDS = 10.0

resting = Rest()
"""Stores that have just failed on a search."""


class Stores:
    """The store of each embedding, made at first use.

    ``settings``: ``BACKEND`` and ``OPTIONS``. ``embedding``: the alias that a store may try out
    while it is made.
    """

    def __init__(self, settings: Mapping[str, Any], *, setting: str, embedding: str) -> None:
        self.settings = settings
        self.setting = setting
        self.embedding = embedding
        self._made: dict[str, Any] = {}
        self._lock = threading.Lock()

    def get(self, embedding: str) -> Any:
        """Return the store for vectors of ``embedding``; raises whatever making it does."""
        given = self.settings.get("OPTIONS", {})
        options = _filled_in(given, embedding)
        key = embedding if options != given else ""
        with self._lock:
            if key not in self._made:
                # After a change of EMBEDDING the one before may still have an alias.
                there_are = app_settings().EMBEDDINGS
                same = (alias for alias in there_are if embedding_identity(alias) == embedding)
                with making(next(same, self.embedding)):
                    self._made[key] = self._make(options)
            return self._made[key]

    def send(self, index: str, entries: Sequence[Entry]) -> None:
        """Write the chunks of documents with vectors. Raises ``RetrievalError``."""
        for embedding in dict.fromkeys(entry.stored.embedding for entry in entries):
            rows = [
                (place, chunk.text, vector, _metadata(index, entry, place))
                for entry in entries
                if entry.stored.embedding == embedding
                for place, chunk, vector in zip(
                    places_of(entry), entry.chunks, entry.vectors, strict=True
                )
            ]
            for start in range(0, len(rows), MOST_AT_ONCE):
                self._write(index, embedding, rows[start : start + MOST_AT_ONCE])

    def withdraw(self, index: str, embedding: str, places: Sequence[Place]) -> None:
        """Take chunks out. Raises whatever the store does."""
        part = part_of_vectors(embedding)
        for start in range(0, len(places), MOST_AT_ONCE):
            some = places[start : start + MOST_AT_ONCE]
            self.get(embedding).delete(ids=[name_of(index, part, place) for place in some])

    def search(
        self, embedding: str, vector: Sequence[float], *, limit: int, **filtering: Any
    ) -> list[Mapping[str, Any]]:
        """Return the metadata of the nearest chunks, best first; not all need be ours.

        A visitor waits: one try of at most ``SEARCH_SECONDS``, and none while the store is left
        alone after a failure. Raises ``EmbeddingFailed``.
        """
        name = f"{self.setting} store"
        try:
            resting.check(name)
        except Resting as error:
            raise EmbeddingFailed(f"The store of {self.setting} is left alone.") from error

        def ask() -> Any:
            store = self.get(embedding)
            with handing([], [], query=vector):
                return store.similarity_search("query", k=limit, **filtering)

        try:
            found = in_time(ask, seconds=SEARCH_SECONDS)
        except ConfigurationError:
            raise
        except Exception as error:
            resting.failed(name)
            raise EmbeddingFailed(f"The store of {self.setting} failed.") from error
        return [document.metadata for document in found]

    def _write(self, index: str, embedding: str, rows: Sequence[tuple]) -> None:
        places, texts, vectors, metadatas = map(list, zip(*rows, strict=True))
        part = part_of_vectors(embedding)
        ids = [name_of(index, part, place) for place in places]
        given = [vector.tolist() for vector in vectors]

        def add() -> None:
            store = self.get(embedding)
            with handing(texts, given):
                store.add_texts(texts, metadatas=metadatas, ids=ids)

        try:
            with_retries(add, tries=TRIES)
        except ConfigurationError:
            raise
        except Exception as error:
            raise RetrievalError(
                f"The store of {self.setting} did not take {len(ids)} chunks."
            ) from error

    def _make(self, options: Mapping[str, Any]) -> Any:
        path = self.settings["BACKEND"]
        backend = import_part(path, setting=self.setting)
        takes = inspect.signature(backend).parameters
        name = next((name for name in NAMES if name in takes), NAMES[0])
        given = {name: Handed(), **options}
        try:
            inspect.signature(backend).bind(**given)
        except TypeError as error:
            raise ConfigurationError(
                f"{self.setting}: {path!r} does not take the OPTIONS of 'store': {error}; "
                f"it takes {', '.join(takes)}."
            ) from error
        return backend(**given)


def _metadata(index: str, entry: Entry, place: Place) -> dict[str, Any]:
    tags = " ".join(sorted(entry.document.access_tags))
    return place._asdict() | {"index": index, "tags": tags}


def _filled_in(value: Any, embedding: str) -> Any:
    if isinstance(value, str):
        return value.replace(PLACEHOLDER, embedding[:12])
    if isinstance(value, Mapping):
        return {key: _filled_in(inner, embedding) for key, inner in value.items()}
    return value
