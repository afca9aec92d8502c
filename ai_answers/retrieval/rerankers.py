"""Reordering hits with a LangChain document compressor, where ``RERANKER`` names one (T9–T14).

In: the query and hits. Out: the same hits, or those the reranker kept, with its scores. It reads
the chunk's own text (R12, R13). When it fails, the order it was given stays (X75). Query and
texts leave the site for every search, which may cost money (T12).
"""

from __future__ import annotations

import dataclasses
import logging
import math
import threading
from collections.abc import Sequence
from typing import Any

from ..conf import alias_settings, import_part
from ..exceptions import trace
from ..values import Hit
from .trying import Rest, Resting

logger = logging.getLogger(__name__)

resting = Rest()
"""Rerankers that have just failed."""
_made: dict[str, tuple[Any, Any]] = {}
_lock = threading.Lock()


def get_reranker(alias: str) -> Any:
    """Return the compressor of that alias, made once a process."""
    entry = alias_settings("RERANKERS", alias)
    with _lock:
        made = _made.get(alias)
        if made is None or made[0] != entry:
            backend = import_part(entry["BACKEND"], setting=f"AI_ANSWERS['RERANKERS'][{alias!r}]")
            made = (dict(entry), backend(**entry.get("OPTIONS", {})))
            _made[alias] = made
        return made[1]


def rerank(alias: str, query: str, hits: Sequence[Hit]) -> list[Hit]:
    """Return ``hits`` as the reranker orders them; ``score_kind`` becomes its alias.

    Scores are read from ``metadata["relevance_score"]``; a reranker that gives none keeps the
    hits' own scores and kind, in its order. What it returns twice, or what was not given to it,
    counts once or not at all. One that fails is left alone for some seconds.
    """
    from langchain_core.documents import Document  # heavy; only where a reranker is set

    if not hits:
        return []
    documents = [
        Document(page_content=text_of(hit), metadata={"place": place})
        for place, hit in enumerate(hits)
    ]
    try:
        resting.check(alias)
        ranked = get_reranker(alias).compress_documents(documents, query)
        places = [document.metadata["place"] for document in ranked]
        found = [_hit(alias, hits[place], d) for place, d in zip(places, ranked, strict=True)]
        return list(dict(zip(places, found, strict=True)).values())
    except Resting:
        logger.info("Reranker %r is left alone after a failure; the order stays.", alias)
    except Exception as error:
        resting.failed(alias)
        logger.warning("Reranker %r failed; the order stays: %s", alias, trace(error))
        logger.debug("Reranker %r failed.", alias, exc_info=True)
    return list(hits)


def text_of(hit: Hit) -> str:
    """Return what a reranker reads: the chunk with what it stands under, not its document."""
    chunk = hit.chunk
    return "\n".join(filter(None, (chunk.title, chunk.heading, chunk.text)))


def _hit(alias: str, hit: Hit, document: Any) -> Hit:
    score = document.metadata.get("relevance_score")
    if score is None:
        return hit
    score = float(score)
    if not math.isfinite(score):
        raise ValueError(f"Reranker {alias!r} returned the score {score!r}.")
    scores = {**hit.scores, alias: score}
    return dataclasses.replace(hit, score=score, score_kind=alias, scores=scores)
