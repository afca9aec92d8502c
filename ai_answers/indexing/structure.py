"""The structure of a Markdown text: sections under headings, blocks within them.

In: text. Out: ``Section`` values in order, their blocks being code, tables, lists and the rest.
What a heading or a list is, markdown-it says; HTML in between is read like a page. A paragraph
that is nothing but ``{#id}`` is not text: it gives what follows an anchor, such as the page of a
PDF. No Django, no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..sources.html import html_to_markdown
from ..sources.markdown import LONGEST_HEADING, blocks_of, plain, without_own_id
from ..tokens import count_tokens

TABLE_RULE = re.compile(r"[ ]{0,3}\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+$")
CELLS = re.compile(r"(?<!\\)\|")
HTML_BLOCK = re.compile(
    r"\s*</?(?:!--|address|article|aside|blockquote|center|dd|details|dialog|div|dl|dt|fieldset|"
    r"figcaption|figure|footer|form|h[1-6]|header|hr|iframe|legend|li|main|menu|nav|ol|p|pre|"
    r"script|section|style|summary|table|tbody|td|tfoot|th|thead|tr|ul)\b",
    re.I,
)
"""HTML that stands for something; ``<your name>`` on a line of its own is text."""


@dataclass(frozen=True, slots=True)
class Block:
    kind: str
    """``code``, ``indented`` (code as well), ``table``, ``list``, ``heading`` or ``text``."""
    text: str
    anchor: str = ""
    """Where on the page it is, more exactly than its section; usually empty."""

    def frame(self) -> tuple[str, str]:
        """Return the lines that each piece of a cut block needs around it."""
        lines = self.text.split("\n", 2)
        if self.kind == "code":
            return lines[0], _fence(lines[0])
        if self.kind == "table":
            return "\n".join(lines[:2]), ""
        return "", ""

    def inside(self) -> str:
        lines = self.text.split("\n")
        if self.kind == "code":
            closed = len(lines) > 1 and lines[-1].strip().startswith(("```", "~~~"))
            return "\n".join(lines[1:-1] if closed else lines[1:])
        return "\n".join(lines[2:]) if self.kind == "table" else self.text


@dataclass(frozen=True, slots=True)
class Section:
    path: tuple[str, ...]
    """The headings above it, the outermost first; empty before the first one."""
    own_anchor: str | None
    """An id written at the heading (``{#id}``); ``None`` when none is."""
    blocks: tuple[Block, ...]
    tokens: int = field(compare=False, default=0)

    def with_blocks(self, blocks: list[Block]) -> Section:
        return Section(self.path, self.own_anchor, tuple(blocks), _length(blocks))


def sections(text: str) -> list[Section]:
    """Cut ``text`` at its headings. The first one is what stands before any."""
    found: list[Section] = []
    stack: list[tuple[int, str]] = []
    own_anchor: str | None = None
    inside: list[Block] = []
    anchor = ""

    def close() -> None:
        path = tuple(heading for _, heading in stack if heading)
        found.append(Section(path, own_anchor, tuple(inside), _length(inside)))
        inside.clear()

    for block, level in _blocks(text.replace("\r\n", "\n").replace("\r", "\n")):
        is_prose = block.kind in ("heading", "text")
        before, own = without_own_id(block.text) if is_prose else (block.text, None)
        if level:
            close()
            own_anchor, anchor = own, ""
            while stack and stack[-1][0] >= level:
                stack.pop()
            stack.append((level, plain(before)))
        elif own is not None and not before:
            anchor = own
        else:
            inside.append(Block(block.kind, block.text, anchor))
    close()
    return found


def blocks(text: str) -> list[Block]:
    """Return the blocks of ``text``, headings being lines like others: for what is in a list."""
    return [Block("text" if level else block.kind, block.text) for block, level in _blocks(text)]


def _blocks(text: str, *, with_html: bool = True) -> Iterator[tuple[Block, int]]:
    """Yield each block and, for a heading, its level."""
    lines = text.split("\n")
    for found in blocks_of(text):
        body = "\n".join(lines[found.first : found.end]).rstrip()
        if found.kind == "heading" and len(found.words) <= LONGEST_HEADING:
            yield Block("heading", found.words), found.level
        elif found.kind == "html" and with_html and HTML_BLOCK.match(body):
            yield from _blocks(html_to_markdown(body).text, with_html=False)
        elif found.kind in ("heading", "html", "text"):
            yield from ((block, 0) for block in _tables(body))
        elif found.kind != "rule" and body.strip():
            yield Block(found.kind, body), 0


def _tables(text: str) -> Iterator[Block]:
    """Yield the tables of a paragraph and what is before them."""
    lines = text.split("\n")
    start = 0
    for number in range(1, len(lines)):
        above, rule = lines[number - 1], lines[number]
        if "|" in above and TABLE_RULE.match(rule) and _width(above) == _width(rule):
            yield from _plain_or_table(lines[start : number - 1])
            start = number - 1
    yield from _plain_or_table(lines[start:])


def _plain_or_table(lines: list[str]) -> Iterator[Block]:
    if lines:
        is_table = len(lines) > 1 and "|" in lines[0] and TABLE_RULE.match(lines[1]) is not None
        yield Block("table" if is_table else "text", "\n".join(lines))


def _width(row: str) -> int:
    return len(CELLS.split(row.strip().strip("|")))


def _fence(opening: str) -> str:
    mark = re.match(r"\s*(`+|~+)", opening)
    return mark[1] if mark else "```"


def _length(found: list[Block] | tuple[Block, ...]) -> int:
    return sum(count_tokens(block.text) for block in found)
