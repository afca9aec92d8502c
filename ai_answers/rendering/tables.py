"""Tables and their rows.

In: the text of rows. Out: as ``blocks``: a new row is sent alone, below ``(1, row)``.
Rows too short are filled up with empty cells, but not without end: a wide header over
many short rows would make a large page of a small text.
"""

from __future__ import annotations

from .blocks import Leaf, Path
from .containers import Container
from .grammar import split_cells
from .inline import InlineRenderer, Phrase

MAX_PADDING = 1000
"""Empty cells one table adds to rows that are too short."""


class Table(Container):
    """A table; its children are the rows of its body."""

    __slots__ = ("_padding", "aligns", "header")
    tag = "table"

    def __init__(self, header: str, aligns: list[str]) -> None:
        super().__init__()
        self.aligns = aligns
        self._padding = 0
        self.header = Row(self, header)
        self.header.close()

    def may_pad(self, cells: int) -> bool:
        self._padding += cells
        return self._padding <= MAX_PADDING

    def place(self, number: int) -> Path:
        return (1, number)

    def html(self) -> str:
        head, rows = self.header.html(), self.inner()
        return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"

    def draw(self, renderer: InlineRenderer) -> None:
        if not self.header.is_drawn:
            self.header.draw(renderer)
        super().draw(renderer)


class Row(Leaf):
    """One row of a table."""

    __slots__ = ("_text", "table")

    def __init__(self, table: Table, text: str) -> None:
        super().__init__()
        self.table = table
        self._text = text

    def add(self, text: str) -> None:
        self._text += text
        super().add(text)

    def _make(self, renderer: InlineRenderer) -> str:
        aligns = self.table.aligns
        cells = split_cells(self._text)[: len(aligns)]
        missing = len(aligns) - len(cells)
        if not self.is_closed or self.table.may_pad(missing):
            cells += [""] * missing
        tag = "th" if self is self.table.header else "td"
        out = ["<tr>"]
        for cell, align in zip(cells, aligns, strict=False):
            attribute = f' data-align="{align}"' if align else ""
            phrase = self._phrase(renderer, cell) if cell else Phrase("")
            out.append(f"<{tag}{attribute}>{phrase.html}</{tag}>")
        out.append("</tr>")
        return "".join(out)
