"""A Markdown file as a page, and the blocks a Markdown text is made of.

In: text. Out: ``markdown_page``: ``(title, text)`` without front matter, comments, scripts,
styles and definitions of links, code as it is. ``blocks_of``: its top-level blocks as ranges of
lines, found by markdown-it's block rules, so that what counts as a heading, a list or code here
is what counts as one on the page. No Django, no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
FRONT_TITLE = re.compile(r"^title[ \t]*:(.*)$", re.M)
UNSEEN = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)", re.S | re.I)
DEFINITION = re.compile(r"^[ ]{0,3}\[[^\]^\n]+\]:[ \t]+\S+.*(?:\n|\Z)", re.M)
"""Where a link leads, far from it: not to be seen on the page."""
OWN_ID = re.compile(r"#(\S*)")
LONGEST_HEADING = 300
"""Characters; a longer one is a paragraph that was set large."""
INLINE = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])|[`*]|(?<!\w)_+|_+(?!\w)")
KINDS = {
    "heading_open": "heading",
    "fence": "code",
    "code_block": "indented",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "html_block": "html",
    "hr": "rule",
}


class Range(NamedTuple):
    """One top-level block of a text: lines ``first`` up to, not including, ``end``."""

    kind: str
    """``heading``, ``code``, ``indented``, ``list``, ``html``, ``rule`` or ``text``."""
    first: int
    end: int
    level: int = 0
    """Of a heading, 1 to 6."""
    words: str = ""
    """Of a heading, with its inline markup."""


def markdown_page(text: str) -> tuple[str, str]:
    """Return title (front matter's, else the first heading's, else ``""``) and text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    title = ""
    if front := FRONT_MATTER.match(text):
        if named := FRONT_TITLE.search(front[1]):
            title = named[1].strip().strip("\"'")
        text = text[front.end() :]
    text = without_unseen(text)
    return title or first_heading(text), text


def without_unseen(text: str) -> str:
    """Drop comments, scripts, styles and definitions of links outside code."""
    if not UNSEEN.search(text) and not DEFINITION.search(text):
        return text
    lines = text.split("\n")
    in_code = code_lines(text)
    pieces: list[str] = []
    prose: list[str] = []
    for number, line in enumerate(lines):
        if number in in_code:
            pieces += [_seen(prose), f"{line}\n"]
            prose = []
        else:
            prose.append(f"{line}\n")
    return "".join([*pieces, _seen(prose)])[:-1]  # the line end that the last line has not


def _seen(lines: list[str]) -> str:
    return DEFINITION.sub("", UNSEEN.sub("", "".join(lines)))


def code_lines(text: str) -> set[int]:
    """Return the numbers of the lines that are code, in lists and quotes too."""
    found: set[int] = set()
    for token in _parser().parse(text):
        if token.type in ("fence", "code_block") and token.map:
            found.update(range(*token.map))
    return found


def first_heading(text: str) -> str:
    headings = (block.words for block in blocks_of(text) if block.kind == "heading")
    words = next((words for words in headings if len(words) <= LONGEST_HEADING), "")
    return plain(without_own_id(words)[0])


def without_own_id(text: str) -> tuple[str, str | None]:
    """Return ``text`` before an id written at its end, and that id; ``None`` without one.

    ``{#fees}``, or ``{: .wide #fees}``; ``{#}`` says that there is none.
    """
    # By hand: patterns for it take minutes over some texts of a few thousand characters.
    whole = text.rstrip()
    start = whole.rfind("{")
    if start < 0 or not whole.endswith("}") or "}" in whole[start:-1]:
        return text, None
    own = OWN_ID.search(whole, start, len(whole) - 1)
    return (whole[:start], own[1]) if own else (text, None)


def plain(heading: str) -> str:
    """Return the words of a heading of at most ``LONGEST_HEADING`` without inline markup."""
    return " ".join(INLINE.sub(lambda found: found[1] or "", heading).split())


def blocks_of(text: str) -> Iterator[Range]:
    """Yield the top-level blocks of ``text`` (``\\n`` at line ends) in order."""
    tokens = _parser().parse(text)
    end = 0
    for number, token in enumerate(tokens):
        if token.level or token.nesting < 0 or token.map is None or token.map[0] < end:
            continue
        first, end = token.map
        kind = KINDS.get(token.type, "text")
        if kind == "heading" and token.markup in "=-" and end - first > 2:
            kind = "text"  # a paragraph with a line under it
        if kind == "heading":
            yield Range(kind, first, end, int(token.tag[1]), tokens[number + 1].content)
        else:
            yield Range(kind, first, end)


def items_of(text: str) -> list[str]:
    """Return the items of ``text``, a list, each with all that is in it."""
    lines = text.split("\n")
    items = [
        token.map
        for token in _parser().parse(text)
        if token.type == "list_item_open" and token.level == 1 and token.map
    ]
    starts = [0, *(first for first, _ in items[1:])]
    ends = [*starts[1:], len(lines)]
    return ["\n".join(lines[a:b]).rstrip() for a, b in zip(starts, ends, strict=True)]


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": 20})
    # Only where blocks are: not what is in them, nor definitions of links, which would vanish.
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser.disable(["reference"])
