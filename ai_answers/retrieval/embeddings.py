"""From an alias in ``EMBEDDINGS`` to vectors: float32, unit length.

The LangChain object is imported at first use and kept for the process: a vendor's package may
take seconds to import, a local model to load.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..conf import alias_settings, import_part
from ..exceptions import ConfigurationError, EmbeddingFailed
from .trying import TRIES, Rest, Resting, with_retries

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

# Options that say which vectors come out. Keys, addresses and timeouts do not.
IDENTITY = ("model", "model_name", "model_id", "model_path", "deployment", "dimensions", "revision")

BATCH = 64
"""Texts of one call, where the alias does not say."""
QUERY_SECONDS = 10.0

resting = Rest()
"""Embeddings that have just failed on a query."""
# Threads of their own, so that a service that hangs can be given up. A search has eight at most.
_queries = ThreadPoolExecutor(8, thread_name_prefix="ai_answers-query")
_made: dict[str, tuple[Any, Any]] = {}
_lock = threading.Lock()


def get_embedding(alias: str | None) -> Embeddings | None:
    """Return the embedding of that alias; ``None`` for ``None``."""
    if alias is None:
        return None
    entry = alias_settings("EMBEDDINGS", alias)
    with _lock:
        made = _made.get(alias)
        if made is None or made[0] != entry:
            backend = import_part(entry["BACKEND"], setting=f"AI_ANSWERS['EMBEDDINGS'][{alias!r}]")
            made = (dict(entry), backend(**entry.get("OPTIONS", {})))
            _made[alias] = made
        return made[1]


def embedding_identity(alias: str | None) -> str:
    """Return what tells vectors of one embedding from another's; empty for ``None``."""
    if alias is None:
        return ""
    entry = alias_settings("EMBEDDINGS", alias)
    options = {k: v for k, v in entry.get("OPTIONS", {}).items() if k in IDENTITY}
    said = json.dumps([alias, str(entry["BACKEND"]), options], sort_keys=True, default=str)
    return hashlib.sha256(said.encode()).hexdigest()[:32]


def embed_texts(alias: str, texts: Sequence[str]) -> np.ndarray:
    """Return one vector a text, asked for in batches of the alias's ``BATCH`` texts.

    What may pass is tried again, the alias's ``TRIES`` times in all. Raises
    ``EmbeddingFailed``; never call it in a transaction.
    """
    if not texts:
        return np.empty((0, 0), np.float32)
    embedding = get_embedding(alias)
    entry = alias_settings("EMBEDDINGS", alias)
    size, tries = entry.get("BATCH", BATCH), entry.get("TRIES", TRIES)
    found = []
    for start in range(0, len(texts), size):
        batch = list(texts[start : start + size])
        try:
            made = with_retries(partial(embedding.embed_documents, batch), tries=tries)
        except Exception as error:
            raise EmbeddingFailed(f"Embedding {alias!r} failed on {len(batch)} texts.") from error
        found.append(_checked(alias, made, len(batch)))
    if len({vectors.shape[1] for vectors in found}) > 1:
        raise EmbeddingFailed(f"Embedding {alias!r} returned vectors of several lengths.")
    return np.vstack(found)


def embed_query(alias: str, query: str) -> np.ndarray:
    """Return the vector of a query. Raises ``EmbeddingFailed``.

    A visitor waits: one try of at most ``QUERY_SECONDS``, and none while the service is left
    alone after a failure.
    """
    try:
        resting.check(alias)
    except Resting as error:
        raise EmbeddingFailed(f"Embedding {alias!r} is left alone after a failure.") from error
    try:
        embedding = get_embedding(alias)
        made = _queries.submit(copy_context().run, embedding.embed_query, query)
        return _checked(alias, [made.result(QUERY_SECONDS)], 1)[0]
    except ConfigurationError:
        raise
    except Exception as error:
        resting.failed(alias)
        if isinstance(error, EmbeddingFailed):
            raise
        raise EmbeddingFailed(f"Embedding {alias!r} failed on a query.") from error


def _checked(alias: str, made: object, count: int) -> np.ndarray:
    """Return vectors as float32 of unit length, or say what is wrong with them."""
    try:
        vectors = np.asarray(made, np.float32)
    except (TypeError, ValueError) as error:
        raise EmbeddingFailed(
            f"Embedding {alias!r} returned something else than vectors of one length."
        ) from error
    if vectors.ndim != 2 or len(vectors) != count or not vectors.size:
        raise EmbeddingFailed(
            f"Embedding {alias!r} returned an array of shape {vectors.shape!r} "
            f"for {count} texts; it must return one vector a text."
        )
    wanted = alias_settings("EMBEDDINGS", alias).get("OPTIONS", {}).get("dimensions")
    if isinstance(wanted, int) and vectors.shape[1] != wanted:
        raise EmbeddingFailed(
            f"Embedding {alias!r} returned {vectors.shape[1]} dimensions, but its OPTIONS ask for "
            f"{wanted}; the service may not know that option."
        )
    return _unit(vectors)


def _unit(vectors: np.ndarray) -> np.ndarray:
    if not np.isfinite(vectors).all():
        raise EmbeddingFailed("The embedding returned a number that is not finite.")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths == 0, 1, lengths)
