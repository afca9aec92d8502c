"""Blocks that hold text: the HTML of each, and what to send after it changed.

In: text, added by ``builder``. Out: ``Change`` values, each the smallest element that must be
replaced or added. A block is *drawn* when its HTML is made to be sent; ``html()`` is always
what was drawn last. An open leaf is drawn anew only when it has grown by ``REDRAW_SHARE`` of
its length: the cost of a long paragraph stays proportional to it. Closed and drawn is final.
No Django and no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .grammar import strip_closing_hashes
from .inline import InlineRenderer, Phrase
from .sanitise import text_to_html
from .unfinished import close_open_ends

REDRAW_SHARE = 0.25
HEADING_SHIFT = 2
"""``#`` is shown as ``h3``: the page around an answer has its own ``h1`` and ``h2``."""

Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One element is new or other than before, or code has grown."""

    path: Path
    """Places among the element children, from the part's own element down; ``()``: itself."""
    html: str | None = None
    append: str | None = None


class Block:
    """What leaves and containers share."""

    __slots__ = ("is_closed", "is_drawn")

    def __init__(self) -> None:
        self.is_closed = False
        self.is_drawn = False

    def close(self) -> None:
        self.is_closed = True

    def draw(self, renderer: InlineRenderer) -> None:
        """Make the HTML of all that is here now."""
        raise NotImplementedError

    def html(self) -> str:
        """The HTML as drawn last."""
        raise NotImplementedError

    def changes(self, renderer: InlineRenderer, path: Path, *, in_full: bool) -> Iterator[Change]:
        """Draw what is new and name it. ``in_full``: however little it grew."""
        raise NotImplementedError


class Leaf(Block):
    """A block that holds text."""

    __slots__ = ("_drawn", "_grown", "_length", "elements")

    def __init__(self) -> None:
        super().__init__()
        self._drawn = ""
        self._grown = 0
        self._length = 0
        self.elements = 0

    def add(self, text: str) -> None:
        """Add to the last line."""
        self._grow(len(text))

    def _grow(self, characters: int) -> None:
        self._grown += characters
        self._length += characters

    def close(self) -> None:
        if not self.is_closed:
            self._grow(1)  # A closed block is drawn once more: nothing in it is a guess.
        super().close()

    def html(self) -> str:
        return self._drawn

    def draw(self, renderer: InlineRenderer) -> None:
        self._drawn = self._make(renderer)
        self._grown = 0
        self.is_drawn = True

    def redraw(self, renderer: InlineRenderer, *, in_full: bool) -> bool:
        """Draw anew if it is time to; whether the HTML became another."""
        is_due = self.is_closed or in_full or self._grown >= REDRAW_SHARE * self._length
        if not self._grown or not is_due:
            return False
        before = self._drawn
        self.draw(renderer)
        return self._drawn != before

    def changes(self, renderer: InlineRenderer, path: Path, *, in_full: bool) -> Iterator[Change]:
        if self.redraw(renderer, in_full=in_full):
            yield Change(path, self._drawn)

    def _make(self, renderer: InlineRenderer) -> str:
        raise NotImplementedError

    def _phrase(self, renderer: InlineRenderer, text: str) -> Phrase:
        if not self.is_closed:
            text = close_open_ends(text)
        phrase = renderer.render(text, is_final=self.is_closed)
        self.elements = phrase.elements
        return phrase


class Paragraph(Leaf):
    """Text in lines."""

    __slots__ = ("can_be_header", "is_bare", "lines")

    def __init__(self, *, is_bare: bool) -> None:
        super().__init__()
        self.is_bare = is_bare
        self.lines: list[str] = []
        self.can_be_header = False

    def start_line(self, text: str, *, can_be_header: bool) -> None:
        self.lines.append(text)
        self.can_be_header = can_be_header
        self._grow(len(text) + 1)

    def add(self, text: str) -> None:
        self.lines[-1] += text
        super().add(text)

    def drop_line(self) -> str:
        """Give the last line away, to be a table's header."""
        self._grow(1)
        return self.lines.pop()

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip(" \t\n")

    def _make(self, renderer: InlineRenderer) -> str:
        html = self._phrase(renderer, self.text).html
        return html if self.is_bare else f"<p>{html}</p>"


class Heading(Leaf):
    __slots__ = ("_is_hashed", "_text", "level")

    def __init__(self, level: int, text: str, *, is_hashed: bool) -> None:
        super().__init__()
        self.level = min(level + HEADING_SHIFT, 6)
        self._is_hashed = is_hashed
        self._text = text

    def add(self, text: str) -> None:
        self._text += text
        super().add(text)

    def _make(self, renderer: InlineRenderer) -> str:
        text = strip_closing_hashes(self._text) if self._is_hashed else self._text
        return f"<h{self.level}>{self._phrase(renderer, text).html}</h{self.level}>"


class Rule(Leaf):
    __slots__ = ()

    def _make(self, renderer: InlineRenderer) -> str:
        return "<hr>"


class Code(Leaf):
    """A code block: it only grows, so a part that is one is sent piece by piece."""

    __slots__ = ("_blank_lines", "_pending", "_pieces", "fence", "indent")

    def __init__(self, *, fence: str, indent: int) -> None:
        super().__init__()
        self.fence = fence
        """The run of signs that opened it; empty: an indented block."""
        self.indent = indent
        self._pieces: list[str] = []
        self._pending: list[str] = []
        self._blank_lines: list[str] = []

    def start_line(self, text: str) -> None:
        if not self.fence and not text.strip(" \t"):
            self._blank_lines.append(text + "\n")  # At the end of a block they are not code.
            return
        self._pending += self._blank_lines
        self._blank_lines = []
        self.add(text)

    def add(self, text: str) -> None:
        self._pending.append(text)
        super().add(text)

    def end_line(self) -> None:
        if not self._blank_lines:
            self.add("\n")

    def html(self) -> str:
        return f"<pre><code>{''.join(self._pieces)}</code></pre>"

    def draw(self, renderer: InlineRenderer) -> None:
        self._take()
        self._drawn = self.html()
        self.is_drawn = True

    def _take(self) -> str:
        text = "".join(self._pending)
        self._pending = []
        self._grown = 0
        if text:
            self._pieces.append(text_to_html(text))
        return text

    def changes(self, renderer: InlineRenderer, path: Path, *, in_full: bool) -> Iterator[Change]:
        if path:
            yield from super().changes(renderer, path, in_full=in_full)
        elif text := self._take():
            yield Change(path, append=text)
