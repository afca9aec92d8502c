"""Follow the block structure of Markdown, line by line, as far as citations depend on it.

In: the start of each line, as soon as it is there. Out: a ``Line``: what kind of block it
belongs to and how many characters of it are a sign. ``None``: not known yet. A line with
several signs (``> - x``) is told in several steps.
Holds nothing itself. No Django and no I/O.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEADING = re.compile(r"#{1,6}")
_ORDERED = re.compile(r"[0-9]{1,9}")
_TICKS = re.compile(r"`+")
_TILDES = re.compile(r"~+")
_DELIMITERS = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)+")
_SIGNS_ONLY = re.compile(r"[-=*_|:+\s]+")


@dataclass(frozen=True, slots=True)
class Line:
    """One step in reading a line's start."""

    kind: str
    """``item``, ``quote``: a sign, more may follow. ``heading``: a sign, text follows.
    ``fence``, ``code``, ``table``, ``text``, ``blank``: nothing more to read."""
    length: int = 0
    """Characters of the sign."""


@dataclass(slots=True)
class Fence:
    """A fenced code block that is open."""

    sign: str
    quotes: int
    column: int


class Blocks:
    """What is known of the blocks around the current line."""

    def __init__(self) -> None:
        self.kind = "start"
        """Kind of the last line that was not blank, this one included."""
        self._kind_before = "start"
        self.fence: Fence | None = None
        self.quotes = 0
        self.is_same_quote = True
        """Whether the line is as deep in quotes as the one before."""
        self._lists: list[int] = []
        self._is_paragraph = False
        self._is_table = False
        self._column = 0
        self._quotes_before = 0
        self._has_text = False
        self._is_first_step = True

    def newline(self, line: str) -> None:
        """End a line; ``line`` is its text or at least its end."""
        if not self._has_text:
            self._is_paragraph = self._is_table = False
            if not self.quotes:
                self._quotes_before = 0
        else:
            self._quotes_before = self.quotes
        if self.kind == "text" and "|" in line and _DELIMITERS.fullmatch(line):
            self.kind, self._is_table = "table", True
        elif self.kind == "text" and line.strip() and _SIGNS_ONLY.fullmatch(line):
            self.kind, self._is_paragraph = "rule", False
        self._kind_before = self.kind
        self.quotes = self._column = 0
        self._has_text = False
        self._is_first_step = True

    def start(self, lead: str, rest: str, *, is_whole: bool) -> Line | None:
        """Read on: ``lead`` is the white space before ``rest`` since the last sign."""
        if not rest:
            return Line("blank") if is_whole else None
        column = self._column
        for sign in lead:
            column += 4 - column % 4 if sign == "\t" else 1
        line = self._read(column, rest, is_whole=is_whole)
        if line is None:
            return None
        is_paragraph = self._is_paragraph
        if self._is_first_step and (not is_paragraph or line.kind in ("item", "heading", "fence")):
            while self._lists and self._lists[-1] > column:
                self._lists.pop()
        return self._commit(line, column)

    def _read(self, column: int, rest: str, *, is_whole: bool) -> Line | None:
        indent = column - self._base(column)
        sign, size = rest[0], len(rest)
        is_lazy = self._is_paragraph and self._is_first_step
        if indent >= 4 and not is_lazy:
            return Line("code")
        if sign == ">":
            return Line("quote", 1)
        if sign in "`~":
            run = (_TICKS if sign == "`" else _TILDES).match(rest).end()  # type: ignore[union-attr]
            if run == size and not is_whole:
                return None
            return Line("fence", run) if run >= 3 and indent < 4 else Line("text")
        if sign == "#":
            run = _HEADING.match(rest).end()  # type: ignore[union-attr]
            if run == size:
                return Line("heading", run) if is_whole else None
            return Line("heading", run) if rest[run] in " \t" else Line("text")
        if sign in "-+*":
            return self._item(rest, 1, is_whole=is_whole)
        if sign.isascii() and sign.isdigit():
            run = _ORDERED.match(rest).end()  # type: ignore[union-attr]
            if run == size:
                return Line("text") if is_whole or run > 8 else None
            return (
                self._item(rest, run + 1, is_whole=is_whole) if rest[run] in ".)" else Line("text")
            )
        return Line("table" if sign == "|" or self._is_table else "text")

    def _item(self, rest: str, size: int, *, is_whole: bool) -> Line | None:
        if len(rest) == size:
            is_item = is_whole and not (self._is_paragraph and rest == "-")
            return Line("item" if is_item else "text", size) if is_whole else None
        return Line("item", size) if rest[size] in " \t" else Line("text")

    def _base(self, column: int) -> int:
        if not self._is_first_step:
            return self._column + (1 if column > self._column else 0)
        return max((base for base in self._lists if base <= column), default=0)

    def _commit(self, line: Line, column: int) -> Line:
        kind = line.kind
        self._has_text = True
        if kind == "quote":
            self.quotes += 1
            self.is_same_quote = self.quotes <= self._quotes_before
            if self.quotes > self._quotes_before:
                self._is_paragraph = False
                self._lists = []
            self._column = column + 1
        elif kind == "item":
            self._column = column + line.length
            # Where the text begins is known when it is there; one blank is the rule.
            self._lists.append(self._column + 1)
            self._is_paragraph = self._is_table = False
        elif kind == "text":
            if (
                not self._is_first_step
                and self._lists
                and self._column < column <= self._column + 4
            ):
                self._lists[-1] = column if self._lists[-1] == self._column + 1 else self._lists[-1]
            self._is_paragraph = True
        else:
            self._is_paragraph = kind == "table"
        if kind == "fence":
            base = max((base for base in self._lists if base <= column), default=0)
            self.fence = Fence("", self.quotes, base)
        # A quote's next lines keep its paragraph; an item begins a new one.
        self._is_first_step = kind == "quote" and self.is_same_quote
        self.kind = kind
        return line

    @property
    def can_be_joined(self) -> bool:
        """Whether a line of markers may be joined to the line before (E13, E14)."""
        return self._kind_before in ("text", "item", "quote")

    def is_at_margin(self, lead: str) -> bool:
        """Whether a line's own text begins here, behind no sign and no deep indent."""
        return self._is_first_step and not self.quotes and len(lead.expandtabs(4)) < 4

    def leave(self, *, is_blank: bool) -> None:
        """Go on behind lines that were dropped: a new line begins."""
        self.quotes = self._column = 0
        self._has_text, self._is_first_step = False, True
        if is_blank:
            self._is_paragraph = self._is_table = False

    def in_fence(self, lead: str, rest: str, *, is_whole: bool) -> str | None:
        """Say of a line in an open fence: ``inside``, ``closes``, ``ended`` (before it)."""
        fence = self.fence
        if fence is None:
            return "ended"
        body = lead + rest
        for _ in range(fence.quotes):
            body = body.lstrip(" \t")
            if not body:
                return "ended" if is_whole else None
            if body[0] != ">":
                return "ended"
            body = body[1:]
        text = body.lstrip(" \t")
        if not text:
            return "inside" if is_whole else None
        if len((body[: len(body) - len(text)]).expandtabs(4)) < fence.column and not fence.quotes:
            return "ended"
        run = len(text) - len(text.lstrip(fence.sign[0]))
        behind = text[run:].strip(" \t\r")
        if behind or (run < len(fence.sign) and (run < len(text) or is_whole)):
            return "inside"
        return "closes" if is_whole and run >= len(fence.sign) else None
