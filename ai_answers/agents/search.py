"""The search tool: the only way an agent finds content (T1–T7).

In: one query the model wrote. Out: a message for the model, and the hits as structured output,
which ``answers`` turns into numbered sources. Index, amount and lowest score are the site's and
never arguments, so that a question cannot choose another index (D12).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import retrieval
from ..bursts import ShuttingDown, search_burst
from ..conf import app_settings
from ..exceptions import trace
from ..models import Agent, AgentTool
from ..values import Hit
from .context import AgentRunContext

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

logger = logging.getLogger(__name__)

SEARCH_TOOL_NAME = AgentTool.SEARCH

AMOUNT = 5
"""Chunks a search call considers when its agent sets no amount (D11)."""

DESCRIPTION = (
    "Search this website's content. Use it whenever an answer needs facts, and again with other "
    "words when the sources you have do not cover the question. The query must stand on its own: "
    "write out what 'it' or 'there' refers to, in the words the content would use."
)
NOTHING_FOUND = (
    "The search found nothing. Try once with other words, or say that this website's content "
    "does not cover the question."
)
FAILED = (
    "The search failed. Answer from the sources you have, or say that you could not look it up."
)
NO_QUERY = "The query was empty. Give the search a query of a few words."


ARGUMENTS = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "description": "What to look for, complete without the conversation.",
        }
    },
    "required": ["query"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOutput:
    """What a search call found, best first."""

    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()
    """What went other than set up, such as an embedding that failed; for those who run the site."""
    candidates: tuple[retrieval.Candidate, ...] = ()
    """All that was found, and what became of it; not for the asker."""


def resolve_search(agent: Agent) -> AgentTool | None:
    """Return the agent's search tool with its forced index, else ``None``; never raises (S18)."""
    try:
        tools = list(agent.tools.all())
    except Exception as error:
        logger.error("The tools of agent %s could not be read: %s", agent.pk, trace(error))
        return None
    return next((t for t in tools if t.tool == SEARCH_TOOL_NAME and t.index.strip()), None)


def make_search_tool(agent_tool: AgentTool, context: AgentRunContext) -> BaseTool:
    """Build the search tool of one run: for its asker, with the arguments its row forces."""
    from langchain_core.tools import StructuredTool  # slow, and not needed before a run

    amount = agent_tool.amount or AMOUNT

    async def run(query: Any = "", **invented: Any) -> tuple[str, SearchOutput | None]:
        # A model may invent arguments such as an index; they do nothing.
        if not isinstance(query, str) or not query.strip():
            return NO_QUERY, None
        query = query.strip()[: app_settings().MAX_QUESTION_CHARS]
        try:
            found = await search_burst(
                retrieval.explain,
                agent_tool.index,
                query,
                asker=context.asker,
                amount=amount,
                min_score=agent_tool.min_score,
            )
        except ShuttingDown:
            raise
        except Exception as error:
            # Whatever it was, the model can still say that it could not look (T4).
            logger.error("Searching index %r failed: %s", agent_tool.index, trace(error))
            logger.debug("Searching index %r failed.", agent_tool.index, exc_info=True)
            note = f"the search failed: {type(error).__name__}"
            return FAILED, SearchOutput(hits=(), notes=(note,))
        output = SearchOutput(hits=found.hits, notes=found.notes, candidates=found.candidates)
        return (_summary(output) if found.hits else NOTHING_FOUND), output

    return StructuredTool.from_function(
        coroutine=run,
        name=SEARCH_TOOL_NAME,
        description=DESCRIPTION,
        args_schema=ARGUMENTS,
        response_format="content_and_artifact",
    )


def _summary(output: SearchOutput) -> str:
    # The text itself reaches the model as numbered sources only, delimited and neutralised.
    count = len({hit.chunk.key for hit in output.hits})
    return f"Pages found: {count}."
