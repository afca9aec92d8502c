"""Collect what the resolver lets through: text, and citations in their place.

Escapes a literal ``[digits]`` as ``\\[digits\\]``, so that every unescaped one outside code
and math is a citation. Counts runs of adjacent markers (M5) and keeps citations found in a
link's text until the link is over (M7). No Django and no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...events import SourceCited, TextDelta
from .names import CITED, LOOK_BACK

_LITERAL = re.compile(r"\[([0-9]+)\]")
_OPEN_END = re.compile(r"\[[0-9]*\Z")
_CLOSED = re.compile(r"[0-9]*\]")


class Writer:
    """What has been decided, in order."""

    def __init__(self) -> None:
        self.recent = ""
        """The last characters of the model's text, a citation shown as ``CITED``."""
        self.last = "start"
        """What came last: ``start``, ``text``, ``sign``, ``marker``, ``bracket`` (a ``]``),
        ``subscript``, ``display`` (math) or ``link``."""
        self.depth = 0
        """Brackets of link text that are open."""
        self.pending: list[int] = []
        """Citations that wait for the end of the link they were found in."""
        self.last_number = 0
        self._run: set[int] = set()
        self._texts: list[str] = []
        self._events: list[TextDelta | SourceCited] = []
        self.is_open_bracket = False
        """Whether what was shown ends in ``[`` or ``[12``."""
        self._has_digits = False

    def text(self, text: str, *, last: str = "text") -> None:
        """Let text through in which a marker could stand."""
        if not text:
            return
        shown = text
        if self.is_open_bracket or "[" in text:
            shown = self._escape(text)
        self._put(shown, text, last)

    def raw(self, text: str, *, last: str = "text") -> None:
        """Let code, math or an address through, unchanged."""
        if text:
            self.is_open_bracket = False
            self._put(text, text, last)

    def cite(self, numbers: Sequence[int]) -> None:
        """Cite here, or behind the link that is open."""
        for number in numbers:
            if number not in self._run:
                self._run.add(number)
                if self.depth:
                    self.pending.append(number)
                else:
                    self._cite(number)
        self.recent = (self.recent + CITED)[-LOOK_BACK:]
        self.last = "marker"

    def release_pending(self) -> None:
        """Cite what was found in a link, as the link is over."""
        if self.pending:
            pending, self.pending = self.pending, []
            self._run = set()
            depth, self.depth = self.depth, 0
            self.cite(pending)
            self.depth = depth

    def take(self) -> list[TextDelta | SourceCited]:
        """Return what has come since the last call."""
        self._join()
        events, self._events = self._events, []
        return events

    def _put(self, shown: str, seen: str, last: str) -> None:
        self._texts.append(shown)
        self.recent = (self.recent + seen[-LOOK_BACK:])[-LOOK_BACK:]
        self.last = last
        if self._run:
            self._run = set()

    def _cite(self, number: int) -> None:
        self._join()
        self._events.append(SourceCited(number))

    def _join(self) -> None:
        if self._texts:
            self._events.append(TextDelta("".join(self._texts)))
            self._texts = []

    def _escape(self, text: str) -> str:
        """Escape what reads as a citation, also where its pieces come one by one."""
        shown = _LITERAL.sub(r"\\[\1\\]", text)
        if self.is_open_bracket:
            closed = _CLOSED.match(text)
            if closed and (self._has_digits or closed.end() > 1):
                shown = shown[: closed.end() - 1] + "\\" + shown[closed.end() - 1 :]
            self.is_open_bracket = self._has_digits = text.isdigit()
        if not text.isdigit():
            end = _OPEN_END.search(text[-40:])
            self.is_open_bracket = end is not None
            self._has_digits = end is not None and len(end[0]) > 1
        return shown
