"""Review a finished answer: what its agent wants compared with the sources it cites.

In: the saved form of the text, the cited sources by the reader's numbers, the agent, the asker.
Out: a ``Review``: what ``done`` says of it, and the references with their quotes. What the site's
``ENTAILMENT`` does wrong, or too slowly, is logged and leaves the verdict to words and facts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..bursts import ShuttingDown, search_burst, site_burst
from ..conf import app_settings, setting_callable
from ..exceptions import trace
from ..models import Agent
from ..rendering.references import render_references
from ..values import Asker, Reference, Source
from .support import Support, check_support

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What came of it."""

    support: Mapping[str, Any] = field(default_factory=dict)
    """``verdict``, ``is_marked`` (the reader is to be told) and, where sentences were compared,
    ``sentences``; empty when the agent asks for nothing."""
    references: Mapping[str, Reference] = field(default_factory=dict)
    """References that got a quote, by key."""


async def review(text: str, *, cited: Mapping[int, Source], agent: Agent, asker: Asker) -> Review:
    """Judge ``text`` as far as ``agent`` asks for it; what goes wrong is logged."""
    if not agent.support_check:
        is_marked = agent.grounded and not cited
        return Review(support={"verdict": "uncited", "is_marked": True} if is_marked else {})
    try:
        return await _compared(text, cited=cited, agent=agent, asker=asker)
    except ShuttingDown:
        raise
    except Exception as error:
        # The answer is there; that nothing is said of it is no reason to lose it.
        logger.error("An answer could not be compared with its sources: %s", trace(error))
        logger.debug("An answer could not be compared with its sources.", exc_info=True)
        return Review()


async def _compared(
    text: str, *, cited: Mapping[int, Source], agent: Agent, asker: Asker
) -> Review:
    # One that may no longer be read has lost its text, and vouches for nothing.
    readable = {index: source for index, source in cited.items() if source.chunks}
    support = await _checked(text, readable)
    is_marked = support.verdict in ("partly", "unsupported")
    is_marked |= support.verdict == "uncited" and agent.grounded
    references = await search_burst(
        render_references,
        [readable[index] for index in support.quotes],
        asker=asker,
        view_mode=agent.reference_view_mode,
        quotes={readable[index].key: quote for index, quote in support.quotes.items()},
    )
    return Review(
        support={**support.as_dict(), "is_marked": is_marked},
        references={reference.key: reference for reference in references},
    )


async def _checked(text: str, cited: Mapping[int, Source]) -> Support:
    try:
        entailment = setting_callable("ENTAILMENT")
        if entailment is not None:
            async with asyncio.timeout(app_settings().TOOL_SECONDS):
                return await site_burst(check_support, text, cited, entailment=entailment)
    except ShuttingDown:
        raise
    except Exception as error:
        logger.error("ENTAILMENT failed; words and facts decide: %s", trace(error))
        logger.debug("ENTAILMENT failed.", exc_info=True)
    return await search_burst(check_support, text, cited)
