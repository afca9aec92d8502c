"""Cutting a document into chunks along its Markdown structure.

In: a ``Document``. Out: ``Chunk`` values, each with the heading path above it and the anchor of
its nearest heading. A chunk with its title and heading path, as it is embedded, has at most
``tokens`` tokens. Code, tables, lists and items of lists stay whole where they fit; a cut one
keeps its fence, its header row or the line of the item above. Each chunk begins with the end of
the one before it, up to ``overlap`` tokens, within one section. No database; feed it documents to
test it.

Change ``VERSION`` with any change here or in ``structure``: documents cut in another way are
indexed anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from ..exceptions import ConfigurationError
from ..tokens import count_tokens
from ..values import Chunk, Document
from .pieces import Piece, pieces_of, tail_of
from .structure import Block, Section, sections

VERSION = 2
SEPARATOR = " › "
CONTEXT = 0.3
"""Share of a chunk that its title and heading path may take."""
SMALL = 4
"""A section below a quarter of a chunk shares one with its neighbours."""

AnchorsOf = Callable[[list[str]], list[str]]
"""Turns all headings of a page, in order, into the ids they have there."""


def chunks_of(
    document: Document, *, tokens: int, overlap: int, anchors_of: AnchorsOf
) -> list[Chunk]:
    """Cut ``document``; headings that say their own id (``{#fees}``) are not asked about."""
    found: list[tuple[str, str, str]] = []
    kept = _with_bare_headings(sections(document.text), document.title)
    whole = _with_anchors(kept, anchors_of)
    for section, of_section in _joined(whole, document.title, tokens):
        # The page's own heading is its top; an anchor would only skip what is above it.
        is_top = not section.path or section.path[-1] == document.title
        heading = _heading(section, document.title)
        room = _room(section, document.title, tokens)
        for anchor, text in _packed(section.blocks, tokens=room, overlap=overlap):
            found.append((heading, anchor or ("" if is_top else of_section), text))
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


def context_of(title: str, heading: str, *, tokens: int) -> str:
    """Return what a chunk stands under, as it is embedded with it.

    At most ``CONTEXT`` of ``tokens``: headings between the title and the nearest one go first,
    then the end of what is left.
    """
    most = max(int(tokens * CONTEXT), 1)
    parts = list(filter(None, [title, *heading.split(SEPARATOR)]))
    while len(parts) > 2 and count_tokens(SEPARATOR.join(parts)) > most:
        del parts[1]
    context = SEPARATOR.join(parts)
    while count_tokens(context) > most:
        context = context[: len(context) * 3 // 4].rstrip()
    return context


def _heading(section: Section, title: str) -> str:
    return SEPARATOR.join(heading for heading in section.path if heading != title)


def _room(section: Section, title: str, tokens: int) -> int:
    """Return the tokens that are left to the text of a chunk in ``section``."""
    context = context_of(title, _heading(section, title), tokens=tokens)
    return max(tokens - count_tokens(f"{context}\n\n" if context else ""), 1)


def _with_anchors(found: list[Section], anchors_of: AnchorsOf) -> Iterator[tuple[Section, str]]:
    """Pair each section with the anchor of its heading."""
    asked = [section.path[-1] for section in found if section.path and section.own_anchor is None]
    anchors = anchors_of(asked) if asked else []
    if len(anchors) != len(asked):
        raise ConfigurationError(
            f"get_anchors returned {len(anchors)!r} ids for {len(asked)!r} headings; it has to "
            "return one for each, an empty one where a heading has none."
        )
    waiting = iter(anchors)
    for section in found:
        if section.own_anchor is not None:
            yield section, section.own_anchor
        else:
            yield section, next(waiting) if section.path else ""


def _with_bare_headings(found: list[Section], title: str) -> list[Section]:
    """Make text of the headings that have none and head none: nothing else would hold them."""
    kept = []
    for section, after in pairwise([*found, None]):
        is_bare = not section.blocks and section.path and section.path[-1] != title
        heads = after is not None and after.path[: len(section.path)] == section.path
        if is_bare and not (heads and len(after.path) > len(section.path)):
            section = section.with_blocks([_title(section)])
        kept.append(section)
    return kept


def _title(section: Section) -> Block:
    return Block("heading", f"**{section.path[-1]}**")


def _joined(
    found: Iterable[tuple[Section, str]], title: str, tokens: int
) -> list[tuple[Section, str]]:
    """Put a small section and the small ones below the same heading behind it into one."""
    joined: list[tuple[Section, str]] = []
    for section, anchor in found:
        last = joined[-1][0] if joined else None
        room = _room(last, title, tokens) if last is not None else 0
        if last is not None and _may_join(last, section, room=room, small=tokens // SMALL):
            is_bare = section.blocks[0].kind == "heading"
            own = [] if is_bare else [_title(section)]
            added = last.with_blocks([*last.blocks, *own, *section.blocks])
            joined[-1] = (added, joined[-1][1])
        else:
            joined.append((section, anchor))
    return [(section, anchor) for section, anchor in joined if section.blocks]


def _may_join(last: Section, section: Section, *, room: int, small: int) -> bool:
    # Blank lines and the heading count as well.
    added = count_tokens(f"**{section.path[-1]}**\n\n") + 1 if section.path else 0
    if section.tokens > small or last.tokens + section.tokens + added > room or not added:
        return False
    is_below = section.path[: len(last.path)] == last.path
    is_beside = section.path[:-1] == last.path[:-1] and last.tokens <= small
    return bool(section.blocks) and bool(last.blocks) and (is_below or is_beside)


def _packed(blocks: Iterable[Block], *, tokens: int, overlap: int) -> Iterator[tuple[str, str]]:
    """Yield chunks' texts with the anchor each has of its own, filled with pieces in order.

    Each text but the first begins with the last pieces of the one before.
    """
    packed: list[Piece] = []
    size = new = 0
    for block in blocks:
        for piece in pieces_of(block, tokens):
            added = piece.size_after(packed[-1] if packed else None)
            if packed and size + added > tokens:
                yield _written(packed, new)
                packed = tail_of(packed, min(overlap, tokens - piece.size_after(None)))
                new = len(packed)
                size = _size(packed)
                added = piece.size_after(packed[-1] if packed else None)
            packed.append(piece)
            size += added
    if packed:
        yield _written(packed, new)


def _size(pieces: list[Piece]) -> int:
    return sum(piece.size_after(last) for last, piece in _paired(pieces))


def _written(pieces: list[Piece], new: int) -> tuple[str, str]:
    text = "".join(piece.after(last) for last, piece in _paired(pieces))
    return pieces[new].anchor, text.strip("\n").rstrip()


def _paired(pieces: list[Piece]) -> Iterator[tuple[Piece | None, Piece]]:
    return pairwise([None, *pieces])
