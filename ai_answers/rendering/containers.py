"""Blocks that hold blocks: quotes, lists and list items.

In: blocks, added by ``builder``; only the last may be open. Out: as ``blocks``.
A list item begins with bare text, never with ``<p>``; further paragraphs of an item have one.
So blank lines between items change nothing, now or later.
"""

from __future__ import annotations

from collections.abc import Iterator

from .blocks import Block, Change, Paragraph, Path
from .inline import InlineRenderer


class Container(Block):
    """A block that holds blocks, of which only the last may be open."""

    __slots__ = ("_done", "_done_html", "children")
    tag = ""

    def __init__(self) -> None:
        super().__init__()
        self.children: list[Block] = []
        self._done = 0
        self._done_html = ""

    def place(self, number: int) -> Path:
        """Where a child is among the element children."""
        return (number,)

    def opening(self) -> str:
        return f"<{self.tag}>"

    def html(self) -> str:
        return f"{self.opening()}{self.inner()}</{self.tag}>"

    def inner(self) -> str:
        """The HTML of the children as drawn last."""
        rest = self.children[self._done :]
        return self._done_html + "".join(child.html() for child in rest if child.is_drawn)

    def draw(self, renderer: InlineRenderer) -> None:
        for child in self.children[self._done :]:
            child.draw(renderer)
        self._settle()
        self.is_drawn = True

    def changes(self, renderer: InlineRenderer, path: Path, *, in_full: bool) -> Iterator[Change]:
        for number in range(self._done, len(self.children)):
            child = self.children[number]
            place = path + self.place(number)
            if child.is_drawn:
                yield from child.changes(renderer, place, in_full=in_full)
            else:
                child.draw(renderer)
                yield Change(place, child.html())
        self._settle()

    def _settle(self) -> None:
        """Keep the HTML of the children that can never change again."""
        last_is_open = bool(self.children) and not self.children[-1].is_closed
        done = len(self.children) - last_is_open
        self._done_html += "".join(child.html() for child in self.children[self._done : done])
        self._done = done


class Quote(Container):
    __slots__ = ()
    tag = "blockquote"


class List(Container):
    __slots__ = ("kind", "start")

    def __init__(self, kind: str, start: int | None) -> None:
        super().__init__()
        self.kind = kind
        self.start = start

    @property
    def tag(self) -> str:  # type: ignore[override]
        return "ul" if self.start is None else "ol"

    def opening(self) -> str:
        is_plain = self.start is None or self.start == 1
        return f"<{self.tag}>" if is_plain else f'<{self.tag} start="{self.start}">'


class Item(Container):
    """A list item: its first text bare, then blocks."""

    __slots__ = ("has_new_start", "lead", "offset")
    tag = "li"

    def __init__(self, offset: int) -> None:
        super().__init__()
        self.offset = offset
        self.lead: Paragraph | None = None
        self.has_new_start = False
        """Its first text was drawn as such and has become a heading or table since."""

    @property
    def is_empty(self) -> bool:
        return self.lead is None and not self.children

    def place(self, number: int) -> Path:
        return (number + (self.lead.elements if self.lead else 0),)

    def html(self) -> str:
        lead = self.lead.html() if self.lead else ""
        return f"<li>{lead}{self.inner()}</li>"

    def draw(self, renderer: InlineRenderer) -> None:
        if self.lead is not None and not (self.lead.is_drawn and self.lead.is_closed):
            self.lead.draw(renderer)
        super().draw(renderer)
        self.has_new_start = False

    def changes(self, renderer: InlineRenderer, path: Path, *, in_full: bool) -> Iterator[Change]:
        lead = self.lead
        is_new = lead is not None and (not lead.is_drawn or lead.redraw(renderer, in_full=in_full))
        if is_new or self.has_new_start:
            self.draw(renderer)
            yield Change(path, self.html())
        else:
            yield from super().changes(renderer, path, in_full=in_full)
