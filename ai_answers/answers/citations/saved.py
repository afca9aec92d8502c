"""Read a saved answer: Markdown in which every unescaped ``[n]`` is a citation.

In: the whole text. Out: the same without its citations, for a model's history (G07), or
whether there is anything else in it (G17). Code, math and addresses stay as they are.
No Django and no I/O.
"""

from __future__ import annotations

import re

from ...events import TextDelta
from .scanner import Scanner

_CITATION = re.compile(r"\[[1-9][0-9]{0,3}\]")
_LITERAL = re.compile(r"\\\[([0-9]+)\\\]")


class _SavedReader(Scanner):
    def __init__(self) -> None:
        super().__init__()
        self.citations = 0

    def read(self, text: str) -> str:
        self._text = text
        self._run(is_final=True)
        self._writer.raw(self._gap)
        events = self._writer.take()
        return "".join(event.text for event in events if isinstance(event, TextDelta))

    def _step_opener(self, sign: str) -> bool:
        citation = _CITATION.match(self._text, self._at)
        if citation:
            self._release_gap()
            self.citations += 1
            self._at = citation.end()
            return True
        literal = _LITERAL.match(self._text, self._at)
        if literal:
            self._put("")
            self._writer.raw(f"[{literal[1]}]")
            self._at = literal.end()
            return True
        if sign == "[":
            self._release_gap()
            self._writer.raw("[")
            self._at += 1
            return True
        return self._pass_opener(sign)


def plain_text(text: str) -> str:
    """Return a saved answer without its citations; a literal ``\\[n\\]`` becomes ``[n]``."""
    return _SavedReader().read(text)


def is_only_markers(text: str) -> bool:
    """Whether citations are all an answer says (G17); an empty text has none."""
    reader = _SavedReader()
    rest = reader.read(text)
    return reader.citations > 0 and not any(sign.isalnum() for sign in rest)
