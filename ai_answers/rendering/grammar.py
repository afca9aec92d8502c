"""Recognise what a line of Markdown may begin.

In: what is left of a line behind the containers it lies in (``Rest``). Out: the sign found, or
``None``. Nothing here looks at other lines; ``builder`` knows what came before.
No Django and no I/O.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_RULE = re.compile(r"(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,}")
_HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*))?", re.DOTALL)
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+[ \t]*\Z")
_FENCE = re.compile(r"(?:(`{3,})[^`]*|(~{3,}).*)", re.DOTALL)
_ITEM = re.compile(r"([-+*]|([0-9]{1,9})[.)])(?=[ \t]|\Z)")
_UNDERLINE = re.compile(r"(=+|-+)[ \t]*")
_DELIMITERS = re.compile(r"(?:-[-:|]|[|:][-:| \t])[-:| \t]*")
_COLUMN = re.compile(r":?-+:?")


class Rest:
    """What is left of a line, with its column, so that tabs have their right width."""

    __slots__ = ("column", "indent", "is_blank", "position", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.column = 0
        self._look()

    def _look(self) -> None:
        column, position = self.column, self.position
        while position < len(self.text) and self.text[position] in " \t":
            column += 4 - column % 4 if self.text[position] == "\t" else 1
            position += 1
        self.indent = column - self.column
        self.is_blank = position == len(self.text)

    def skip(self, columns: int) -> None:
        """Consume up to so many columns of white space; part of a tab stays as spaces."""
        while columns and self.text[self.position : self.position + 1] in (" ", "\t"):
            if self.text[self.position] == "\t":
                width = 4 - self.column % 4
                self.text = " " * width + self.text[self.position + 1 :]
                self.position = 0
            self.position += 1
            self.column += 1
            columns -= 1
        self._look()

    def take(self, characters: int) -> None:
        """Consume characters that are no white space."""
        self.position += characters
        self.column += characters
        self._look()

    @property
    def content(self) -> str:
        """The text from its first character on, without leading white space."""
        return self.text[self.position :].lstrip(" \t")

    @property
    def raw(self) -> str:
        return self.text[self.position :]


@dataclass(frozen=True, slots=True)
class ItemSign:
    """The sign of a list item."""

    kind: str
    """Items of one list share it: the bullet, or the character behind the number."""
    start: int | None
    width: int


def read_heading(content: str) -> tuple[int, str] | None:
    """Return level and text of a ``#`` heading."""
    found = _HEADING.fullmatch(content)
    return (len(found[1]), found[2] or "") if found else None


def strip_closing_hashes(text: str) -> str:
    return _CLOSING_HASHES.sub("", text.rstrip(" \t")).strip(" \t")


def is_rule(content: str) -> bool:
    return _RULE.fullmatch(content) is not None


def read_fence(content: str) -> str | None:
    """Return the run of signs that opens a code block."""
    found = _FENCE.fullmatch(content)
    return (found[1] or found[2]) if found else None


def closes_fence(content: str, run: str) -> bool:
    stripped = content.rstrip(" \t")
    return len(stripped) >= len(run) and stripped == run[0] * len(stripped)


def read_item(content: str) -> ItemSign | None:
    found = _ITEM.match(content)
    if not found:
        return None
    start = int(found[2]) if found[2] else None
    return ItemSign(found[1][-1], start, len(found[1]))


def read_underline(content: str) -> int | None:
    """Return the level of heading that a line of ``=`` or ``-`` makes of the text above."""
    found = _UNDERLINE.fullmatch(content)
    return None if not found else 1 if found[1][0] == "=" else 2


def read_delimiters(content: str) -> list[str] | None:
    """Return the alignment of each column from the line below a table's header."""
    if not _DELIMITERS.fullmatch(content):
        return None
    columns = [column.strip(" \t") for column in content.split("|")]
    aligns = []
    for place, column in enumerate(columns):
        if not column and place in (0, len(columns) - 1):
            continue
        if not _COLUMN.fullmatch(column):
            return None
        left, right = column[0] == ":", column[-1] == ":"
        aligns.append("center" if left and right else "right" if right else "left" if left else "")
    return aligns


def split_cells(text: str) -> list[str]:
    """Split a table row at its pipes; ``\\|`` is a pipe in a cell."""
    cells = [""]
    for piece in re.split(r"(\\?\|)", text.strip()):
        if piece == "|":
            cells.append("")
        else:
            cells[-1] += "|" if piece == "\\|" else piece
    if cells and not cells[0]:
        del cells[0]
    if cells and not cells[-1]:
        del cells[-1]
    return [cell.strip() for cell in cells]
