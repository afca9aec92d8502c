"""What happens inside one run, as frozen values in order. No Django, no I/O.

agent     → RoundStarted, ToolStarted, ToolFinished, TextDelta
citations → TextDelta (``[n]`` final), CitationFound
rendering → PartChanged
"""

from __future__ import annotations

from dataclasses import dataclass

from .values import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted:
    """A model call begins."""

    number: int
    """From 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundFinished:
    """A model call ended."""

    usage: Usage
    finish_reason: str
    """As the provider says it: ``stop``, ``tool_calls``, ``length``, ``content_filter`` …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    """A tool call is about to run."""

    name: str
    query: str
    """What it looks for, for the status line; empty when it has no query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """A tool call ended and its signal was sent; sources may have been added."""

    name: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A new piece of text, never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class SourceCited:
    """The citation stage met a valid marker here in the text.

    ``number`` is the model's number of the source.
    """

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationFound:
    """A source is cited for the first time; comes before the text that cites it."""

    index: int
    """The number the reader sees, from 1 in order of first citation (S65)."""
    number: int
    """The number the model used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartChanged:
    """A top-level piece of the rendered answer is new or other than before.

    Exactly one of the forms of the ``part`` frame: ``html`` alone replaces the part,
    ``child`` with ``html`` replaces or adds one list item or table row below it,
    ``append`` adds text to a code part. ``html == ""`` without ``child`` removes it.
    """

    index: int
    html: str | None = None
    child: tuple[int, ...] | None = None
    append: str | None = None


Event = (
    RoundStarted
    | RoundFinished
    | ToolStarted
    | ToolFinished
    | TextDelta
    | SourceCited
    | CitationFound
    | PartChanged
)
