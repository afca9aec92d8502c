"""Searching without a model: what an agent would find for a visitor, as references.

In: an agent, a query, an asker. Out: one reference for each object, best first, none of which the
asker may not see. The index and the lowest score are the agent's, so a query can no more choose
another index than a question can (D12). Sync; asks the database, and the embedding's service.
"""

from __future__ import annotations

from ..agents.search import resolve_search
from ..exceptions import AgentNotUsable
from ..models import Agent
from ..rendering.references import render_references
from ..retrieval import search
from ..values import Asker, Reference
from .sourcing import TurnSources

CHUNKS = 3
"""Chunks asked for one object that is wanted: the best page has several."""
QUOTE_CHARS = 200


def find_references(agent: Agent, query: str, *, asker: Asker, amount: int) -> list[Reference]:
    """Return references to at most ``amount`` objects, each with a short quote.

    An agent that has an amount of its own gives no more than that.
    Raises ``AgentNotUsable`` for an agent without search, ``RetrievalError``.
    """
    tool = resolve_search(agent)
    if tool is None:
        raise AgentNotUsable(f"The agent {agent.slug!r} has no search tool with an index.")
    amount = min(amount, tool.amount or amount)
    hits = search(tool.index, query, asker=asker, amount=amount * CHUNKS, min_score=tool.min_score)
    sources = TurnSources(max_sources=amount, max_references=amount, max_tokens=1_000_000)
    sources.add(hits)
    return render_references(
        sources.all, asker=asker, view_mode=agent.reference_view_mode, quote_chars=QUOTE_CHARS
    )
