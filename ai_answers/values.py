"""The plain values that flow from room to room. Frozen, no Django, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Outcome = Literal[
    "answered", "fallback", "no_answer", "refused", "stopped", "failed", "interrupted"
]
"""How a turn ended; a turn that still runs has none (``""`` in the database).

``fallback``: answered, but not by the agent's own chat model, which failed.
"""

AnswerFormat = Literal["markdown", "html"]
"""What a run sends: text with ``[n]`` citations, or finished safe HTML parts."""


class ObjectKey(NamedTuple):
    """Names one object of the site, in all its languages: what a citation number belongs to."""

    entity_type: str
    """A registered source's name: ``app_label.model``, or the name of a directory source."""
    entity_id: str
    """The primary key as text, or a path below the directory."""

    def __str__(self) -> str:
        return f"{self.entity_type}:{self.entity_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who asks: all that access rules may depend on. Never the request."""

    user: Any
    """A user of the site, or ``AnonymousUser``."""
    language: str = ""
    """Language code the visitor reads in, such as ``pt-br``."""
    scope: Any = None
    """What the ``SCOPE`` setting computed from the request: tenant, site, password given."""
    page: str = ""
    """Path of the page the question was asked on; empty when unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One object in one language, as text: what indexing reads."""

    key: ObjectKey
    language: str
    title: str
    url: str
    """Path or absolute URL of the page; empty when the object has none."""
    text: str
    """Markdown; headings (``#``) give chunks their heading path and anchors."""
    access_tags: frozenset[str] = frozenset()
    """An asker needs one of these in his own tags; empty: everyone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A stored slice of a document."""

    id: int | None
    """Row id in the index; ``None`` before it is stored."""
    key: ObjectKey
    language: str
    position: int
    """Place in its document, from 0."""
    text: str
    title: str
    """The document's title."""
    url: str
    """The document's URL, without anchor."""
    heading: str = ""
    """Heading path above the slice, joined with `` › ``."""
    anchor: str = ""
    """Id of the nearest heading on the page, without ``#``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A chunk with its score for one query."""

    chunk: Chunk
    score: float
    """Higher is better; comparable only within one ``score_kind``."""
    score_kind: str
    """``bm25``, ``cosine``, ``fused`` or the reranker's name."""
    scores: Mapping[str, float] = field(default_factory=dict, compare=False)
    """What each step gave it on the way, by kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An object numbered for one turn, with the chunks that support it (G03)."""

    number: int
    """The number the model sees, from 1; it never changes within a turn (S62)."""
    key: ObjectKey
    title: str
    url: str
    language: str
    chunks: tuple[Chunk, ...]
    score: float | None = None
    """Of its first hit: the cosine where there is one, else what it was ranked by."""
    score_kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A source as the reader sees it (D30). Chunk text never leaves the server."""

    index: int | None
    """The number shown in the answer; ``None`` while provisional."""
    key: str
    """Identity over a conversation (S106): object, else URL, else label."""
    entity_type: str
    entity_id: str
    label: str
    url: str
    score: float | None
    html: str
    """The site's own card, rendered and safe; empty when it could not be rendered."""
    quote: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The reference's shape on the wire and in the database; no ``index`` while provisional."""
        data = {name: getattr(self, name) for name in self.__slots__ if name != "quote"}
        if self.index is None:
            del data["index"]
        if self.quote:
            data["quote"] = self.quote
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens one run used, summed over its rounds."""

    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )

    def as_dict(self) -> dict[str, int]:
        return {
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "total_tokens": self.total_tokens,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One unit for a reader, before it is encoded for the wire."""

    kind: str
    """``turn``, ``status``, ``references``, ``citation``, ``token``, ``part``, ``snapshot``,
    ``done``, ``stopped`` or ``error``."""
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_last(self) -> bool:
        """Whether the stream closes behind it."""
        return self.kind in ("done", "stopped", "error")
