"""From an alias in ``EMBEDDINGS`` to vectors: float32, unit length.

In: an alias and texts, or one query. Out: one row a text. Indexing may wait, so it tries again
what may pass; a visitor does not, and a service that has failed is not asked for some seconds.
Test it with a real endpoint that refuses, hangs or answers nonsense.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..conf import alias_settings
from ..exceptions import ConfigurationError, EmbeddingFailed
from ..tokens import count_tokens
from .failures import is_about_input
from .made import Made
from .trying import TRIES, Rest, Resting, with_retries
from .waiting import in_time

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

logger = logging.getLogger(__name__)

# Options that say which vectors come out. Keys, addresses and timeouts do not.
IDENTITY = ("model", "model_name", "model_id", "model_path", "deployment", "dimensions", "revision")

BATCH = 64
"""Texts of one call, where the alias does not say."""
BATCH_TOKENS = 16_000
"""Tokens of one call, likewise, as ``tokens`` counts them: the strictest services take 20,000."""
QUERY_SECONDS = 10.0
"""How long a visitor waits for the vector of his query, likewise."""

resting = Rest()
"""Embeddings that have just failed on a query."""
_made = Made("EMBEDDINGS")


class _NoDirection(EmbeddingFailed):
    """A vector that points nowhere; the next text may have a better one."""


def get_embedding(alias: str | None) -> Embeddings | None:
    """Return the embedding of that alias; ``None`` for ``None``."""
    return None if alias is None else _made.get(alias)


def embedding_identity(alias: str | None) -> str:
    """Return what tells vectors of one embedding from another's; empty for ``None``."""
    if alias is None:
        return ""
    entry = alias_settings("EMBEDDINGS", alias)
    options = {k: v for k, v in entry.get("OPTIONS", {}).items() if k in IDENTITY}
    said = json.dumps([alias, str(entry["BACKEND"]), options], sort_keys=True, default=str)
    return hashlib.sha256(said.encode()).hexdigest()[:32]


def embed_texts(alias: str, texts: Sequence[str]) -> np.ndarray:
    """Return one vector a text, asked for in batches (``BATCH``, ``BATCH_TOKENS`` of the alias).

    What may pass is tried again, the alias's ``TRIES`` times in all and for three minutes at
    most, besides the time of the calls. Raises ``EmbeddingFailed``; never call it in a
    transaction.
    """
    if not texts:
        return np.empty((0, 0), np.float32)
    entry = alias_settings("EMBEDDINGS", alias)
    tries = entry.get("TRIES", TRIES)
    size, tokens = entry.get("BATCH", BATCH), entry.get("BATCH_TOKENS", BATCH_TOKENS)
    found = []
    for batch in _batches(texts, size=size, tokens=tokens):
        try:
            embedding = get_embedding(alias)
            made = with_retries(partial(embedding.embed_documents, batch), tries=tries)
        except ConfigurationError:
            raise
        except Exception as error:
            raise EmbeddingFailed(f"Embedding {alias!r} failed on {len(batch)} texts.") from error
        found.append(_checked(alias, made, len(batch)))
    lengths = sorted({vectors.shape[1] for vectors in found})
    if len(lengths) > 1:
        raise EmbeddingFailed(
            f"Embedding {alias!r} returned vectors of several lengths, {lengths!r}; all of one "
            "embedding must have the same."
        )
    return np.vstack(found)


def _batches(texts: Sequence[str], *, size: int, tokens: int) -> Iterator[list[str]]:
    """Cut them into runs of at most ``size`` texts and ``tokens`` tokens; one text at least."""
    batch: list[str] = []
    full = 0
    for text in texts:
        count = count_tokens(text)
        if batch and (len(batch) >= size or full + count > tokens):
            yield batch
            batch, full = [], 0
        batch.append(text)
        full += count
    yield batch


def embed_query(alias: str, query: str) -> np.ndarray:
    """Return the vector of a query. Raises ``EmbeddingFailed``.

    A visitor waits: one try, for at most the alias's ``SECONDS``, and none while the service is
    left alone after a failure; then one query tries first. The cause of the error is ``Resting``
    for all but the first failure in a row, so that a log can keep to that.
    """
    try:
        resting.check(alias, alone=True)
    except Resting as error:
        raise EmbeddingFailed(f"Embedding {alias!r} is left alone after a failure.") from error
    seconds = alias_settings("EMBEDDINGS", alias).get("SECONDS", QUERY_SECONDS)
    try:
        ask = partial(get_embedding(alias).embed_query, query)
        vector = _checked(alias, [in_time(ask, seconds=seconds)], 1)[0]
    except ConfigurationError:
        raise
    except Exception as error:
        if isinstance(error, _NoDirection) or is_about_input(error):
            # It answers; what it says of one text must not keep it from the next visitor's.
            _works(alias)
        elif not resting.failed(alias):
            still = Resting(f"{alias} has not answered since it failed.")
            still.__cause__ = error
            raise EmbeddingFailed(f"Embedding {alias!r} failed on a query again.") from still
        if isinstance(error, EmbeddingFailed):
            raise
        raise EmbeddingFailed(f"Embedding {alias!r} failed on a query.") from error
    _works(alias)
    return vector


def _works(alias: str) -> None:
    if failed_for := resting.worked(alias):
        logger.info("Embedding %r answers again, after %.0f s.", alias, failed_for)


def _checked(alias: str, made: object, count: int) -> np.ndarray:
    """Return vectors as float32 of unit length, or say what is wrong with them."""
    try:
        vectors = np.asarray(made, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
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
    return _unit(alias, vectors)


def _unit(alias: str, vectors: np.ndarray) -> np.ndarray:
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    if not np.isfinite(largest).all():
        raise _NoDirection(
            f"Embedding {alias!r} returned a number that is not finite; all must be."
        )
    if not largest.all():
        raise _NoDirection(
            f"Embedding {alias!r} returned a vector of zeros; each needs a direction."
        )
    vectors = vectors / largest  # so that no square overflows or vanishes
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
