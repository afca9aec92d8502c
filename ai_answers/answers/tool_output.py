"""What a model reads of a tool's result: the sources that it added, under their final numbers.

In: a tool's structured output and its own message. Out: the message in its place; ``TurnSources``
has grown. Only searches and source tools add sources (S42, S43). No Django, no I/O.
"""

from __future__ import annotations

from typing import Any

from ..agents.search import SearchOutput
from ..sources.block import render_sources
from ..tools import Listing
from .sourcing import TurnSources

NOTHING_LISTED = "The tool found nothing that can be shown."
NOT_LISTED = "{count} more were found that are not listed here; say that there are more."


def tool_message(output: Any, message: str, *, sources: TurnSources, boundary: str) -> str | None:
    """Return what the model is to read (S45); ``None``: the tool's message stays."""
    if isinstance(output, SearchOutput):
        if not output.hits:
            return None
        return render_sources(sources.add(output.hits), boundary=boundary)
    if isinstance(output, Listing):
        return _listing_message(output, message, sources, boundary)
    return None


def _listing_message(listing: Listing, message: str, sources: TurnSources, boundary: str) -> str:
    """Put the numbered objects behind the tool's own words (S47)."""
    if not listing.hits:
        return message or NOTHING_LISTED
    added = sources.add(listing.hits, is_listing=True)
    block = render_sources(added, boundary=boundary) if added else ""
    missing = len({hit.chunk.key for hit in listing.hits}) - len(added) + listing.left_out
    more = NOT_LISTED.format(count=missing) if missing else ""
    return "\n\n".join(filter(None, (message, block, more)))
