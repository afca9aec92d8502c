"""The structure of a Markdown text: sections under headings, blocks within them.

In: text. Out: ``Section`` values in order, their blocks being code, tables and the rest, cut at
blank lines. Headings are ``#`` lines and underlined lines, never inside fenced code.
No Django, no I/O.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..sources.markdown import HEADING, UNDERLINE, fenced_lines
from ..tokens import count_tokens

OWN_ID = re.compile(r"\s*\{[:]?[^}]*?#([\w.:-]+)[^}]*\}\s*$")
INLINE = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])|[`*]|(?<!\w)_+|_+(?!\w)")
TABLE_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")


@dataclass(frozen=True, slots=True)
class Block:
    kind: str
    """``code``, ``table``, ``heading`` or ``text``."""
    text: str

    def frame(self) -> tuple[str, str]:
        """Return the lines that each piece of a cut block needs around it."""
        lines = self.text.split("\n")
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
    anchor: str
    """An id written at the heading (``{#id}``); usually empty."""
    blocks: tuple[Block, ...]

    @property
    def tokens(self) -> int:
        return sum(count_tokens(block.text) for block in self.blocks)

    def with_blocks(self, blocks: list[Block]) -> Section:
        return Section(self.path, self.anchor, tuple(blocks))


def sections(text: str) -> list[Section]:
    """Cut ``text`` at its headings."""
    found: list[Section] = []
    stack: list[tuple[int, str]] = []
    anchor = ""
    lines: list[tuple[str, bool]] = []

    def close() -> None:
        path = tuple(heading for _, heading in stack if heading)
        found.append(Section(path, anchor, tuple(blocks(lines))))
        lines.clear()

    for line, in_code in fenced_lines(text.replace("\r\n", "\n")):
        line = line.rstrip("\n")
        heading = None if in_code else _heading(line, lines)
        if heading is None:
            lines.append((line, in_code))
            continue
        level, words = heading
        close()
        own = OWN_ID.search(words)
        anchor = own[1] if own else ""
        while stack and stack[-1][0] >= level:
            stack.pop()
        stack.append((level, plain(words[: own.start()] if own else words)))
    close()
    return found


def blocks(lines: list[tuple[str, bool]]) -> list[Block]:
    """Cut lines, each with whether it is fenced code, at blank lines and at code's edges."""
    groups: list[tuple[bool, list[str]]] = []
    for line, in_code in lines:
        if not in_code and not line.strip():
            groups.append((False, []))
        elif groups and groups[-1][0] == in_code:
            groups[-1][1].append(line.rstrip())
        else:
            groups.append((in_code, [line.rstrip()]))
    found = []
    for in_code, group in groups:
        if not group:
            continue
        is_table = len(group) > 2 and "|" in group[0] and TABLE_RULE.match(group[1])
        kind = "code" if in_code else "table" if is_table else "text"
        found.append(Block(kind, "\n".join(group)))
    return found


def plain(heading: str) -> str:
    """Return a heading's words without inline markup."""
    return " ".join(INLINE.sub(lambda found: found[1] or "", heading).split())


def _heading(line: str, before: list[tuple[str, bool]]) -> tuple[int, str] | None:
    """Return level and words when ``line`` makes a heading; an underlined one is taken back."""
    if found := HEADING.match(line):
        return len(found[1]), found[2]
    under = UNDERLINE.match(line)
    if under and before and not before[-1][1] and before[-1][0].strip():
        alone = len(before) < 2 or not before[-2][0].strip()
        if alone and not before[-1][0].lstrip().startswith(("-", "*", ">", "|", "#")):
            words, _ = before.pop()
            return (1 if under[1][0] == "=" else 2), words.strip()
    return None


def _fence(opening: str) -> str:
    mark = re.match(r"\s*(`+|~+)", opening)
    return mark[1] if mark else "```"
