"""LangChain vector stores as ``vector_store`` uses them: they take vectors that are there already.

In: chunks named by what never changes about them, and their vectors. Out: the same names, nearest
first. No database; feed it an ``InMemoryVectorStore`` to test it.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from ..conf import import_part
from ..exceptions import ConfigurationError, EmbeddingFailed, RetrievalError
from .base import Entry

logger = logging.getLogger(__name__)

PLACEHOLDER = "{embedding}"
NAMES = ("entity_type", "entity_id", "language", "checksum", "fingerprint", "position")
Place = tuple[str, str, str, str, str, int]
"""What ``NAMES`` say: it names a chunk for ever, in whatever row it is kept."""


class Stores:
    """The store of each embedding, made at first use."""

    def __init__(self, settings: Mapping[str, Any], *, setting: str) -> None:
        self.settings = settings
        self.setting = setting
        self._made: dict[str, Any] = {}
        self._lock = threading.Lock()

    def get(self, embedding: str) -> Any:
        options = _filled_in(self.settings.get("OPTIONS", {}), embedding)
        key = embedding if options != self.settings.get("OPTIONS", {}) else ""
        with self._lock:
            if key not in self._made:
                backend = import_part(self.settings["BACKEND"], setting=self.setting)
                try:
                    try:
                        self._made[key] = backend(embedding=_Handed(), **options)
                    except TypeError:
                        self._made[key] = backend(embedding_function=_Handed(), **options)
                except TypeError as error:
                    raise ConfigurationError(
                        f"{self.setting}: {self.settings['BACKEND']!r} does not take the OPTIONS "
                        f"of 'store': {error}."
                    ) from error
            return self._made[key]

    def add(self, alias: str, entry: Entry) -> set[str]:
        """Write a document's chunks; return their ids."""
        document, stored = entry.document, entry.stored
        places = [
            (
                document.key.entity_type,
                document.key.entity_id,
                document.language,
                stored.checksum,
                stored.fingerprint,
                chunk.position,
            )
            for chunk in entry.chunks
        ]
        texts = [chunk.text for chunk in entry.chunks]
        tags = [" ".join(sorted(document.access_tags))] * len(texts)
        return self.write(stored.embedding, places, texts, entry.vectors, alias, tags=tags)

    def write(
        self,
        embedding: str,
        places: Sequence[Place],
        texts: Sequence[str],
        vectors: np.ndarray,
        alias: str,
        *,
        tags: Sequence[str],
    ) -> set[str]:
        ids = [store_id(alias, embedding, place) for place in places]
        metadatas = [
            dict(zip(NAMES, place, strict=True)) | {"index": alias, "tags": own}
            for place, own in zip(places, tags, strict=True)
        ]
        store = self.get(embedding)
        with _handing(vectors.tolist()):
            try:
                store.add_texts(list(texts), metadatas=metadatas, ids=ids)
            except Exception as error:
                raise RetrievalError(
                    f"The vector store of {self.setting} did not take {len(ids)} chunks."
                ) from error
        return set(ids)

    def delete(self, ids: Mapping[str, set[str]]) -> None:
        """Take chunks out. One that fails stays as an orphan, which no search returns."""
        for embedding, some in ids.items():
            if some:
                try:
                    self.get(embedding).delete(ids=sorted(some))
                except Exception:
                    logger.warning("%s: %d chunks stay in the store.", self.setting, len(some))
                    logger.debug("The store failed.", exc_info=True)

    def search(
        self, embedding: str, vector: np.ndarray, *, limit: int, **filtering: Any
    ) -> list[Mapping[str, Any]]:
        """Return the metadata of the nearest chunks, best first."""
        with _handing([vector.tolist()]):
            try:
                found = self.get(embedding).similarity_search("query", k=limit, **filtering)
            except Exception as error:
                raise EmbeddingFailed(f"The vector store of {self.setting} failed.") from error
        return [document.metadata for document in found]


def store_id(alias: str, embedding: str, place: Place) -> str:
    """Return the id of a chunk's vector in the store."""
    said = "\0".join(map(str, (alias, embedding, *place)))
    return hashlib.sha256(said.encode()).hexdigest()[:40]


def _filled_in(value: Any, embedding: str) -> Any:
    if isinstance(value, str):
        return value.replace(PLACEHOLDER, embedding[:12])
    if isinstance(value, Mapping):
        return {key: _filled_in(inner, embedding) for key, inner in value.items()}
    return value


_handed: ContextVar[Iterator[list[float]]] = ContextVar("ai_answers_handed")


@contextmanager
def _handing(vectors: Sequence[list[float]]) -> Iterator[None]:
    """Within it, a store that asks for embeddings gets ``vectors``, in order."""
    token = _handed.set(iter(vectors))
    try:
        yield
    finally:
        _handed.reset(token)


class _Handed(Embeddings):
    """What a store is given as its embedding."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [next(_handed.get()) for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return next(_handed.get())
