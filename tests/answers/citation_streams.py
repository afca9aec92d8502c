"""Feed texts to the citation stage in pieces and show what came out as one string."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ai_answers.answers.citations import CitationResolver
from ai_answers.events import SourceCited, TextDelta

TITLES = ("Depot times", "Fares")
CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "citations.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]


def show(events: Iterable[TextDelta | SourceCited]) -> str:
    """Return the text, each citation as ``⟦n⟧``."""
    return "".join(
        event.text if isinstance(event, TextDelta) else f"⟦{event.number}⟧" for event in events
    )


def resolve(pieces: Iterable[str], *, source_count: int = 5) -> str:
    resolver = CitationResolver(source_count=source_count, titles=TITLES)
    events = [event for piece in pieces for event in resolver.feed(piece)]
    return show([*events, *resolver.flush()])


def unescape(text: str) -> str:
    return re.sub(r"\\\[(\d+)\\\]", r"[\1]", text)


def without_chips(text: str) -> str:
    return re.sub("⟦[0-9]+⟧", "", text)


def cuts(text: str) -> Iterator[Sequence[str]]:
    """Yield the text whole, per character, and in every way of two pieces."""
    yield [text]
    yield list(text)
    for at in range(1, len(text)):
        yield [text[:at], text[at:]]


def is_subsequence(part: str, whole: str) -> bool:
    signs = iter(whole)
    return all(sign in signs for sign in part)
