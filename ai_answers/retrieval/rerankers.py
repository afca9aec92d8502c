"""Reordering hits with a LangChain document compressor, where ``RERANKER`` names one (T9–T14).

In: the query and hits. Out: the same hits, or those the reranker kept, with its scores. It reads
the chunk's own text (R12, R13). When it fails or is too slow, the order it was given stays (X75).
Query and texts leave the site for every search, which may cost money (T12).
"""

from __future__ import annotations

import dataclasses
import logging
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from ..conf import alias_settings
from ..exceptions import trace
from ..values import Hit
from .failures import is_about_input
from .made import Made
from .trying import Rest, Resting
from .waiting import in_time

logger = logging.getLogger(__name__)

RERANK_SECONDS = 10.0
"""How long a visitor waits for the order, where the alias does not say."""

resting = Rest()
"""Rerankers that have just failed."""
_made = Made("RERANKERS")


def get_reranker(alias: str) -> Any:
    """Return the compressor of that alias, made once a process."""
    return _made.get(alias)


class Reranked(NamedTuple):
    hits: list[Hit]
    failed: bool = False
    """Whether they are in the order in which they came."""


def rerank(alias: str, query: str, hits: Sequence[Hit]) -> Reranked:
    """Return ``hits`` as the reranker orders them; ``score_kind`` becomes its alias.

    Scores are read from ``metadata["relevance_score"]``; a reranker that gives none keeps the
    hits' own scores and kind, in its order. What it returns twice counts once. One that takes
    longer than the alias's ``SECONDS`` has failed; one that fails is left alone for some seconds.
    """
    if not hits:
        return Reranked([])
    try:
        resting.check(alias, alone=True)
        found = _ask(alias, query, hits)
    except Resting:
        logger.info("Reranker %r is left alone after a failure; the order stays.", alias)
    except Exception as error:
        level = logging.WARNING
        if is_about_input(error):
            # It answers; a text that it refuses must not keep it from the next search.
            _works(alias)
        elif not resting.failed(alias):
            level = logging.INFO  # its first failure has been said
        logger.log(level, "Reranker %r failed; the order stays: %s", alias, trace(error))
        logger.debug("Reranker %r failed.", alias, exc_info=True)
    else:
        _works(alias)
        return Reranked(found)
    return Reranked(list(hits), failed=True)


def _works(alias: str) -> None:
    if failed_for := resting.worked(alias):
        logger.info("Reranker %r answers again, after %.0f s.", alias, failed_for)


def _ask(alias: str, query: str, hits: Sequence[Hit]) -> list[Hit]:
    from langchain_core.documents import Document  # heavy; only where a reranker is set

    documents = [
        Document(page_content=text_of(hit), metadata={"place": place})
        for place, hit in enumerate(hits)
    ]
    ask = partial(get_reranker(alias).compress_documents, documents, query)
    seconds = alias_settings("RERANKERS", alias).get("SECONDS", RERANK_SECONDS)
    found: dict[int, Hit] = {}
    for document in in_time(ask, seconds=seconds):
        place = document.metadata["place"]
        found.setdefault(place, _hit(alias, hits[place], document))
    ranked = list(found.values())
    if len({hit.score_kind for hit in ranked}) > 1:
        raise ValueError(f"Reranker {alias!r} returned scores for some texts only.")
    return ranked


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
