"""From an alias in ``EMBEDDINGS`` to vectors: float32, unit length.

The LangChain object is imported at first use and kept for the process: a vendor's package may
take seconds to import, a local model to load.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..conf import alias_settings, import_part
from ..exceptions import EmbeddingFailed

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

# Options that say which vectors come out. Keys, addresses and timeouts do not.
IDENTITY = ("model", "model_name", "model_id", "model_path", "deployment", "dimensions", "revision")

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
    """Return one vector a text. Raises ``EmbeddingFailed``; never call it in a transaction."""
    if not texts:
        return np.empty((0, 0), np.float32)
    embedding = get_embedding(alias)
    try:
        vectors = np.asarray(embedding.embed_documents(list(texts)), np.float32)
    except Exception as error:
        raise EmbeddingFailed(f"Embedding {alias!r} failed on {len(texts)} texts.") from error
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise EmbeddingFailed(
            f"Embedding {alias!r} returned an array of shape {vectors.shape!r} "
            f"for {len(texts)} texts; it must return one vector a text."
        )
    return _unit(vectors)


def embed_query(alias: str, query: str) -> np.ndarray:
    """Return the vector of a query. Raises ``EmbeddingFailed``."""
    embedding = get_embedding(alias)
    try:
        vector = np.asarray(embedding.embed_query(query), np.float32)
    except Exception as error:
        raise EmbeddingFailed(f"Embedding {alias!r} failed on a query.") from error
    return _unit(vector.reshape(1, -1))[0]


def _unit(vectors: np.ndarray) -> np.ndarray:
    if not np.isfinite(vectors).all():
        raise EmbeddingFailed("The embedding returned a number that is not finite.")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths == 0, 1, lengths)
