"""What happens inside one run, as frozen values in order. No Django, no I/O.

agent     → RoundStarted, ModelReplaced, PromptSent, RoundFinished, ToolStarted, ToolFinished,
            ToolDeclined, TextDelta
citations → TextDelta (``[n]`` final), CitationFound
rendering → PartChanged
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .values import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted:
    """A model call begins."""

    number: int
    """From 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSent:
    """The model call of the round goes out."""

    messages: Sequence[Any]
    """LangChain messages, as they are sent; not to be changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReplaced:
    """A chat model failed before it said anything, and its fallback stands in for it."""

    alias: str
    by: str
    """The alias that is asked from here on."""
    code: str
    """What it failed with, such as ``model_overloaded``."""

    def __str__(self) -> str:
        return f"The chat model {self.alias!r} failed ({self.code}), {self.by!r} was asked."


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundFinished:
    """A model call ended."""

    usage: Usage
    finish_reason: str
    """As the provider says it: ``stop``, ``tool_calls``, ``length``, ``content_filter`` …"""
    is_cut: bool = False
    """Whether the model stopped at its output limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    """A tool call is about to run."""

    name: str
    query: str
    """What it looks for, for the status line; empty when it has no query."""
    call_id: str = field(default="", compare=False)
    """Unique in its run; its ``ToolFinished`` has the same."""
    arguments: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """What the model chose, after ``tool_pre_execute``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """A tool call ended and its signal was sent; sources may have been added."""

    name: str
    call_id: str = field(default="", compare=False)
    message: str = field(default="", compare=False)
    """What the model reads of it."""
    output: Any = field(default=None, compare=False)
    """The tool's structured output, or ``None``."""
    failure: str = field(default="", compare=False)
    """Why it did not do what it was asked, without a word of anybody's; empty when it did."""
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDeclined:
    """A tool call was not carried out, and the model was told."""

    name: str
    reason: str
    """``unknown``, ``not_json``, ``too_long``, ``too_many``, or ``repeated``: it got the result
    of the same call before."""


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
    | PromptSent
    | ModelReplaced
    | RoundFinished
    | ToolStarted
    | ToolFinished
    | ToolDeclined
    | TextDelta
    | SourceCited
    | CitationFound
    | PartChanged
)
