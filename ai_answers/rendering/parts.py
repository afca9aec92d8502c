"""Render an answer while it is written, in parts that settle one after another.

In: the text of ``citations``: Markdown whose unescaped ``[n]`` are citations. Out:
``PartChanged`` events. A part is one top-level block; once another has begun behind it, it
never changes again. ``child`` may name any block below the part's element (list item, table
row, a paragraph in a quote), never one above something that was sent before.
Holds back: the signs at a line's start until their meaning is settled, and of a long open
block up to a quarter of its length, so that redrawing costs in proportion (``catch_up`` and
``flush`` send it). To test it, feed it pieces and apply the events to a tree.
"""

from __future__ import annotations

from ..events import PartChanged
from .blocks import Block
from .builder import BlockBuilder
from .inline import InlineRenderer
from .lines import LineCutter
from .links import LinkPolicy


class PartRenderer:
    """The stage from text to parts of safe HTML."""

    def __init__(self, *, links: LinkPolicy, reference_count: int = 0) -> None:
        self._inline = InlineRenderer(links=links, reference_count=reference_count)
        self._cutter = LineCutter()
        self._builder = BlockBuilder()
        self._settled = 0
        self.parts: list[str] = []
        """The HTML of each part as sent so far."""

    @property
    def reference_count(self) -> int:
        """``[n]`` with ``1 <= n <= reference_count`` is a citation, others are text."""
        return self._inline.reference_count

    @reference_count.setter
    def reference_count(self, count: int) -> None:
        self._inline.reference_count = count

    def feed(self, text: str) -> list[PartChanged]:
        """Take the next piece of text, return what it changes."""
        for kind, piece in self._cutter.feed(text):
            self._builder.feed(kind, piece)
        return self._changes(in_full=False)

    def catch_up(self) -> list[PartChanged]:
        """Send what was held back of an open block, say because the model pauses."""
        return self._changes(in_full=True)

    def flush(self) -> list[PartChanged]:
        """End the answer. Text fed later begins a new part."""
        for kind, piece in self._cutter.flush():
            self._builder.feed(kind, piece)
        self._builder.flush()
        return self._changes(in_full=True)

    def _changes(self, *, in_full: bool) -> list[PartChanged]:
        events: list[PartChanged] = []
        blocks = self._builder.children
        for index in range(self._settled, len(blocks)):
            block = blocks[index]
            if block.is_drawn:
                changes = self._part_changes(index, block, in_full=in_full)
            else:
                block.draw(self._inline)
                changes = [PartChanged(index=index, html=block.html())]
            if changes:
                self.parts[index : index + 1] = [block.html()]
                events += changes
            if block.is_closed:
                self._settled = index + 1
                blocks[index] = _SETTLED  # Its blocks are not needed any more.
        return events

    def _part_changes(self, index: int, part: Block, *, in_full: bool) -> list[PartChanged]:
        return [
            PartChanged(
                index=index, child=change.path or None, html=change.html, append=change.append
            )
            for change in part.changes(self._inline, (), in_full=in_full)
        ]


_SETTLED = Block()


def render(text: str, *, links: LinkPolicy, reference_count: int) -> str:
    """Render a whole text: the same HTML that streaming it gives, all parts joined."""
    renderer = PartRenderer(links=links, reference_count=reference_count)
    renderer.feed(text)
    renderer.flush()
    return "".join(renderer.parts)
