"""What is put into chunks whole: blocks, and the pieces of blocks that are too long for one.

In: a ``Block`` and how many tokens a chunk has. Out: ``Piece`` values in order, none longer than
that. Holds nothing back; feed it blocks to test it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from unicodedata import category

from ..sources.markdown import items_of
from ..tokens import CHARS_PER_TOKEN, count_tokens
from .structure import Block, blocks

GRAIN = 8
"""A paragraph that is too long is cut into eighths of a chunk, or at sentences below that."""
SENTENCE = 30
"""Tokens of a long sentence: what is cut finer loses its sense."""
LEAD = 4
"""A line of an item is repeated above its own items up to a quarter of a chunk."""
DEEPEST = 8
"""Lists in each other that are cut at their items; deeper than anyone writes, at their words."""
SENTENCES = [r"(?<=[.!?…؟۔।])\s+", r"(?<=[。！？])"]
WORDS = [r"(?<=[、，；：])|(?<=[;,،؛])\s+", r"\s+"]
IN_PROSE = ["\n\n", *SENTENCES, "\n", *WORDS]
"""Where a text may be cut, the best first; lines of prose end anywhere."""
IN_LINES = ["\n\n", "\n", *SENTENCES, *WORDS]
"""The same for code and tables."""
MARKER = re.compile(r"([-+*]|\d{1,9}[.)])[ \t]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    text: str
    tokens: int
    gap: str = "\n\n"
    """What stands between it and the piece before."""
    lead: str = ""
    """Lines that have to stand above it: those of the items that it is in."""
    whole: bool = True
    """Whether it is never cut, not even to be repeated in part."""
    anchor: str = ""

    def after(self, last: Piece | None) -> str:
        """Return the text to add after ``last``."""
        lead = "" if last is not None and last.lead == self.lead else self.lead
        text = f"{lead}\n{self.text}" if lead else self.text
        return self.gap + text if last is not None else text

    def size_after(self, last: Piece | None) -> int:
        """Return the most tokens that ``after(last)`` adds to a chunk."""
        if not self.lead or (last is not None and last.lead == self.lead):
            return self.tokens
        return self.tokens + count_tokens(self.lead + "\n")


def pieces_of(block: Block, tokens: int) -> Iterator[Piece]:
    """Yield ``block`` in pieces of which each fits into ``tokens``."""
    for piece in _pieces(block, tokens):
        yield replace(piece, anchor=block.anchor) if block.anchor else piece


def tail_of(pieces: list[Piece], room: int) -> list[Piece]:
    """Return the last pieces that fit into ``room`` tokens; of a paragraph its last sentences."""
    kept: list[Piece] = []
    for piece in reversed(pieces):
        if room < 1:
            break
        smaller = [piece]
        if piece.tokens > room and not piece.whole:
            smaller = _sentences(piece.text, min(room, max(room // LEAD, SENTENCE)), gap=piece.gap)
            smaller = [replace(part, anchor=piece.anchor) for part in smaller]
        for part in reversed(smaller):
            size = part.size_after(None)
            if size > room:
                return kept
            kept.insert(0, part)
            room -= size
    return kept


def _pieces(block: Block, tokens: int, *, depth: int = 0) -> Iterator[Piece]:
    length = _size(block.text, "\n\n")
    if length <= tokens:
        is_whole = block.kind != "text"
        yield Piece(text=block.text, tokens=length, whole=is_whole)
        return
    if block.kind == "list" and depth < DEEPEST:
        yield from _items(block.text, tokens, depth=depth)
        return
    head, foot = block.frame()
    room = tokens - _size(head, "\n") - _size(foot, "\n") - 1
    if not head or room < tokens // 2:
        size = min(tokens, max(tokens // GRAIN, SENTENCE))
        yield from _sentences(block.text, size, gap="\n\n", whole=block.kind != "text")
        return
    for part in _cut(block.inside(), room, by_line=True):
        if part.strip():
            text = "\n".join(filter(None, (head, part.strip("\n"), foot)))
            yield Piece(text=text, tokens=_size(text, "\n\n"))


def _items(text: str, tokens: int, *, depth: int) -> Iterator[Piece]:
    """Yield the items of a list, and of an item that is too long what is in it."""
    gap = "\n\n"
    for item in items_of(text):
        length = _size(item, gap)
        if length <= tokens:
            yield Piece(text=item, tokens=length, gap=gap)
        else:
            yield from _inside(item, tokens, gap=gap, depth=depth)
        gap = "\n"


def _inside(item: str, tokens: int, *, gap: str, depth: int) -> Iterator[Piece]:
    """Yield what is in ``item`` below its own first paragraph, if that is short; else all."""
    marker = MARKER.match(item.lstrip(" "))
    body = item.lstrip(" ")[marker.end() :] if marker else item
    first, _, rest = body.partition("\n")
    inner = blocks(f"{first.strip()}\n{textwrap.dedent(rest)}")
    sign = f"{marker[1]} " if marker else ""
    lead = sign + inner[0].text if inner else ""
    indent = " " * len(sign)
    fits = len(inner) > 1 and inner[0].kind == "text" and count_tokens(lead) <= tokens // LEAD
    room = tokens - count_tokens(lead + "\n") if fits else tokens
    # Indenting costs a little more, so that much less is taken.
    for number, block in enumerate(inner[1:] if fits else inner):
        for piece in _pieces(block, max(room * 7 // 8, 1), depth=depth + 1):
            if fits:
                below = textwrap.indent(piece.lead, indent)
                text = textwrap.indent(piece.text, indent)
                lines = "\n".join(filter(None, (lead, below)))
            else:
                lines, text = piece.lead, piece.text
                text = sign + text if not number and piece.gap == "\n\n" and sign else text
            made = Piece(text=text, tokens=_size(text, "\n\n"), gap=gap, lead=lines, whole=True)
            if made.size_after(None) <= tokens:
                yield made
            else:  # deeper than there is room for its lines: the words alone
                yield from _sentences(text.strip(), tokens, gap=gap, whole=True)
            gap = "\n"


def _sentences(text: str, tokens: int, *, gap: str, whole: bool = False) -> list[Piece]:
    """Cut ``text`` into pieces of at most ``tokens``, at the best places there are."""
    found: list[Piece] = []
    end = 0
    for part in _cut(text, tokens):
        start = text.find(part, end)
        between = text[end:start] if end and start >= 0 else ""
        end = max(start, 0) + len(part)
        between = "\n" if "\n" in between else " " if between else ""
        before = between if found else gap
        found.append(Piece(text=part, tokens=_size(part, before), gap=before, whole=whole))
    return found


def _size(text: str, gap: str) -> int:
    return count_tokens(gap + text) if text else 0


def _cut(text: str, tokens: int, *, by_line: bool = False) -> list[str]:
    most = max(tokens - 1, 1)
    parts = _splitter(most, by_line).split_text(text)
    return [piece for part in parts for piece in _slices(part, most)]


def _slices(text: str, tokens: int) -> Iterator[str]:
    """Cut what has no blanks, at any character that does not belong to the one before it."""
    widest = tokens * CHARS_PER_TOKEN
    start = 0
    while start < len(text):
        end = min(start + widest, len(text))
        while (count := count_tokens(text[start:end])) > tokens and end - start > 1:
            end = start + max((end - start) * tokens // count, 1)
        least = max(end - 16, start + 1)
        while least < end < len(text) and _joins(text[end], text[end - 1]):
            end -= 1
        yield text[start:end]
        start = end


def _joins(character: str, before: str) -> bool:
    return before == "\u200d" or character == "\u200d" or category(character)[0] == "M"


@lru_cache(maxsize=64)
def _splitter(tokens: int, by_line: bool):  # noqa: FBT001 - a key of the cache
    # Imported late: the package costs a third of a second, and only indexing needs it.
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    return RecursiveCharacterTextSplitter(
        chunk_size=tokens,
        chunk_overlap=0,
        length_function=count_tokens,
        separators=IN_LINES if by_line else IN_PROSE,
        is_separator_regex=True,
        keep_separator="end",
        strip_whitespace=not by_line,
    )
