"""Read a saved answer: Markdown in which every unescaped ``[n]`` is a citation.

In: the whole text. Out: the same without its citations, for a model's history (G07), or
whether there is anything else in it (G17), or each of them as one character (``marked``).
Code, math and addresses stay as they are.
No Django and no I/O.
"""

from __future__ import annotations

import re

from ...events import TextDelta
from .links import MAX_TARGET
from .scanner import Scanner
from .targets import Target

_CITATION = re.compile(r"\[[1-9][0-9]{0,3}\]")
_LITERAL = re.compile(r"\\\[([0-9]+)\\\]")
_AUTOLINK = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*>")
_PRIVATE = re.compile("[\ue000-\uf8ff]")
FIRST_MARK = 0xE000
"""``marked`` writes citation n as the character of this code plus n."""


class _SavedReader(Scanner):
    """``is_marking``: leave a character for each citation. ``is_markdown``: keep escapes."""

    def __init__(self, *, is_marking: bool = False, is_markdown: bool = False) -> None:
        super().__init__()
        self.citations = 0
        self._is_marking = is_marking
        self._is_markdown = is_markdown

    def read(self, text: str) -> str:
        self._text = text
        self._run(is_final=True)
        self._writer.raw(self._gap)
        events = self._writer.take()
        return "".join(event.text for event in events if isinstance(event, TextDelta))

    def _open_address(self, *, is_bare: bool) -> None:
        """A literal number in a bare address is escaped, so it needs no watching."""
        if not is_bare:
            super()._open_address(is_bare=is_bare)

    def _step_opener(self, sign: str) -> bool:
        text, at = self._text, self._at
        citation = _CITATION.match(text, at)
        if citation and not self._is_link(citation.end()):
            self._release_gap()
            self.citations += 1
            self._at = citation.end()
            if self._is_marking:
                self._writer.raw(chr(FIRST_MARK + int(citation[0][1:-1]) % 0x1000))
            self._writer.last = "marker"
            return True
        literal = _LITERAL.match(text, at)
        if literal:
            self._put("", is_raw=True)
            self._writer.raw(literal[0] if self._is_markdown else f"[{literal[1]}]")
            self._at = literal.end()
        elif sign in "[<" and not _AUTOLINK.match(text, at):
            self._put(sign, is_raw=True)
        else:
            return self._pass_opener(sign)
        return True

    def _is_link(self, at: int) -> bool:
        """Whether ``(`` and a target stand there: no citation is written before one."""
        target, text = Target(), self._text
        if text[at : at + 1] != "(":
            return False
        for sign in text[at : at + MAX_TARGET]:
            ends = target.feed(sign)
            if ends is not False:
                return ends is True
        return False


def plain_text(text: str) -> str:
    """Return a saved answer without its citations; a literal ``\\[n\\]`` becomes ``[n]``."""
    return _SavedReader().read(text)


def without_citations(text: str) -> str:
    """Return a saved answer as it would be saved had it cited nothing."""
    return _SavedReader(is_markdown=True).read(text)


def marked(text: str) -> str:
    """Return ``plain_text(text)`` with one character in the place of each citation."""
    return _SavedReader(is_marking=True).read(_PRIVATE.sub("", text))


def is_only_markers(text: str) -> bool:
    """Whether citations are all an answer says (G17); an empty text has none."""
    reader = _SavedReader()
    rest = reader.read(text)
    return reader.citations > 0 and not any(sign.isalnum() for sign in rest)
