"""Reordering hits with a LangChain document compressor, where ``RERANKER`` names one (T9–T14).

In: the query and hits. Out: the same hits, or those the reranker kept, with its scores. It reads
the chunk's own text (R12, R13). When it fails, the order it was given stays.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections.abc import Sequence
from typing import Any

from ..conf import alias_settings, import_part
from ..values import Hit

logger = logging.getLogger(__name__)

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
    hits' own scores and kind, in its order.
    """
    from langchain_core.documents import Document  # heavy; only where a reranker is set

    if not hits:
        return []
    documents = [
        Document(page_content=f"{hit.chunk.title}\n{hit.chunk.text}", metadata={"place": place})
        for place, hit in enumerate(hits)
    ]
    try:
        ranked = get_reranker(alias).compress_documents(documents, query)
        return [_hit(alias, hits[document.metadata["place"]], document) for document in ranked]
    except Exception:
        logger.warning("Reranker %r failed; the order stays.", alias, exc_info=True)
        return list(hits)


def _hit(alias: str, hit: Hit, document: Any) -> Hit:
    score = document.metadata.get("relevance_score")
    if score is None:
        return hit
    return dataclasses.replace(hit, score=float(score), score_kind=alias)
