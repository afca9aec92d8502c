"""Cutting a document into chunks along its Markdown structure.

In: a ``Document``. Out: ``Chunk`` values of about ``tokens`` tokens, each with the heading path
above it and the anchor of its nearest heading. Code and tables stay whole where they fit; a cut
one keeps its fence or its header row. Each chunk begins with the end of the one before it, up to
``overlap`` tokens, within one section. No database; feed it documents to test it.

Change ``VERSION`` with any change here: documents cut in another way are indexed anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from ..tokens import count_tokens
from ..values import Chunk, Document
from .structure import Block, Section, sections

VERSION = 1
SEPARATOR = " › "
GRAIN = 8
"""A block that is too long is cut into eighths of a chunk, or at sentences below that."""
SENTENCE = 30
"""Tokens of a long sentence: what is cut finer loses its sense."""
SMALL = 4
"""A section below a quarter of a chunk shares one with its neighbours."""


def chunks_of(
    document: Document,
    *,
    tokens: int,
    overlap: int,
    anchor_of: Callable[[str], str],
) -> list[Chunk]:
    """Cut ``document``; ``anchor_of`` turns a heading into the id it has on the page."""
    found = []
    for section in _joined(sections(document.text), tokens):
        texts = _packed(section.blocks, tokens=tokens, overlap=overlap)
        path = [heading for heading in section.path if heading != document.title]
        nearest = section.path[-1] if section.path else ""
        # The page's own heading is its top; an anchor would only skip what is above it.
        is_top = nearest == document.title or len(section.path) < 1
        anchor = "" if is_top else section.anchor or anchor_of(nearest)
        for text in texts:
            found.append((SEPARATOR.join(path), anchor, text))
    return [
        Chunk(
            id=None,
            key=document.key,
            language=document.language,
            position=position,
            text=text,
            title=document.title,
            url=document.url,
            heading=heading,
            anchor=anchor,
        )
        for position, (heading, anchor, text) in enumerate(found)
    ]


def _joined(found: list[Section], tokens: int) -> list[Section]:
    """Put a small section and the small ones below the same heading behind it into one."""
    joined: list[Section] = []
    for section in found:
        last = joined[-1] if joined else None
        if last is not None and _may_join(last, section, tokens):
            title = Block("heading", f"**{section.path[-1]}**")
            joined[-1] = last.with_blocks([*last.blocks, title, *section.blocks])
        else:
            joined.append(section)
    return [section for section in joined if section.blocks]


def _may_join(last: Section, section: Section, tokens: int) -> bool:
    small = tokens // SMALL
    if section.tokens > small or last.tokens + section.tokens > tokens or not section.path:
        return False
    is_below = section.path[: len(last.path)] == last.path
    is_beside = section.path[:-1] == last.path[:-1] and last.tokens <= small
    return bool(section.blocks) and bool(last.blocks) and (is_below or is_beside)


class _Piece(NamedTuple):
    """What is put into chunks whole: a block, or a sentence or so of one that is too long."""

    gap: str
    """What stands between it and the piece before."""
    text: str
    tokens: int


def _packed(blocks: Iterable[Block], *, tokens: int, overlap: int) -> list[str]:
    """Fill chunks with pieces in order; each but the first begins with the last ones before."""
    packed: list[list[_Piece]] = [[]]
    size = 0
    for block in blocks:
        for piece in _pieces(block, tokens):
            if packed[-1] and size + piece.tokens > tokens:
                tail = _tail(packed[-1], min(overlap, tokens - piece.tokens))
                packed.append(tail)
                size = sum(kept.tokens for kept in tail)
            packed[-1].append(piece)
            size += piece.tokens
    texts = ("".join(piece.gap + piece.text for piece in pieces) for pieces in packed)
    return [text.strip("\n ") for text in texts if text.strip()]


def _tail(pieces: list[_Piece], room: int) -> list[_Piece]:
    """Return the last pieces that fit into ``room`` tokens; of a paragraph its last sentences."""
    kept: list[_Piece] = []
    for piece in reversed(pieces):
        if room < 1:
            break
        smaller = [piece]
        if piece.tokens > room and "```" not in piece.text and "|" not in piece.text:
            smaller = _sentences(piece.text, min(room, max(room // 4, SENTENCE)), gap=piece.gap)
        for part in reversed(smaller):
            if part.tokens > room:
                return kept
            kept.insert(0, part)
            room -= part.tokens
    return kept


def _pieces(block: Block, tokens: int) -> list[_Piece]:
    length = count_tokens(block.text) + 1
    if length <= tokens:
        return [_Piece("\n\n", block.text, length)]
    head, foot = block.frame()
    room = tokens - count_tokens(head) - count_tokens(foot) - 2
    if not head or room < tokens // 2:
        return _sentences(block.text, min(tokens, max(tokens // GRAIN, SENTENCE)), gap="\n\n")
    parts = _splitter(room).split_text(block.inside())
    framed = ["\n".join(filter(None, (head, part.strip("\n"), foot))) for part in parts]
    return [_Piece("\n\n", text, count_tokens(text) + 1) for text in framed]


def _sentences(text: str, tokens: int, *, gap: str) -> list[_Piece]:
    """Cut ``text`` into pieces of at most ``tokens``, at the best places there are."""
    found, end = [], 0
    for part in _splitter(tokens).split_text(text):
        start = text.find(part, end)
        between = text[end:start] if end and start >= 0 else ""
        end = max(start, 0) + len(part)
        between = "\n" if "\n" in between else " " if between else ""
        found.append(_Piece(between if found else gap, part, count_tokens(part + between)))
    return found


@lru_cache(maxsize=32)
def _splitter(tokens: int):
    # Imported late: the package costs a third of a second, and only indexing needs it.
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    return RecursiveCharacterTextSplitter(
        chunk_size=tokens,
        chunk_overlap=0,
        length_function=count_tokens,
        separators=["\n\n", "\n", r"(?<=[.!?…])\s+", r"(?<=[。！？])", r"\s+", ""],
        is_separator_regex=True,
        keep_separator="end",
    )
