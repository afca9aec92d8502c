"""markdown-it, set up for the text of an answer: what stands in one paragraph, heading or cell.

In: text. Out: markdown-it's inline tokens, and ``citation`` for an unescaped ``[n]`` outside
code and math. HTML is off. Of links only ``[text](address)`` and ``<address>`` are known; where
they may lead is not decided here. Math (``$…$``, ``$$…$$``, ``\\(…\\)``, ``\\[…\\]``) stays as it
was written, for a page that typesets it. Code and math that never close only switch citations
off, up to the end of the text, as ``citations`` reads them.
No Django and no I/O.
"""

from __future__ import annotations

import re
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, image, link
from markdown_it.token import Token

MAX_BRACKETS = 300
"""Brackets of one text that are tried as a link; trying is quadratic in the worst case."""

_CITATION = re.compile(r"\[([0-9]{1,4})\]")
_LITERAL_BRACKET = re.compile(r"\\\[[0-9,;\s–-]*\\\]")
_PLAIN_WORD = re.compile(r"(?<=\s)[^\W\d_]{3,}(?=[\s,.;:!?]|$)")
_CLOSERS = {"$$": "$$", r"\(": r"\)", r"\[": r"\]"}


def _citation_rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 markdown-it's form
    if silent or state.src[state.pos] != "[" or state.pos < state.env.get("literal_until", 0):
        return False
    found = _CITATION.match(state.src, state.pos)
    if not found or not 1 <= int(found[1]) <= state.env["reference_count"]:
        return False
    state.push("citation", "", 0).content = str(int(found[1]))
    state.pos = found.end()
    return True


def _math_rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    """Keep math as it was written; math that never closes only switches citations off."""
    src, start = state.src, state.pos
    opener = src[start : start + 2]
    if opener in _CLOSERS:
        if opener == r"\[" and _LITERAL_BRACKET.match(src, start):
            return False
        end = _find_closer(state, _CLOSERS[opener], start + 2)
        limit = state.posMax
    elif src[start] == "$" and _opens_math(src, start):
        line_end = src.find("\n", start)
        limit = state.posMax if line_end < 0 else min(line_end, state.posMax)
        word = _PLAIN_WORD.search(src, start, limit)
        limit = word.start() if word else limit
        end = src.find("$", start + 1, limit)
        opener = "$"
    else:
        return False
    if end < 0:
        if not silent:
            state.env["literal_until"] = max(limit, state.env.get("literal_until", 0))
        return False
    if not silent:
        state.pending += src[start : end + len(opener)]
    state.pos = end + len(opener)
    return True


def _find_closer(state: StateInline, closer: str, start: int) -> int:
    last = state.env.setdefault("last_closer", {})
    if closer not in last:
        last[closer] = state.src.rfind(closer)
    return state.src.find(closer, start, state.posMax) if last[closer] >= start else -1


def _opens_math(src: str, start: int) -> bool:
    behind = src[start + 1 : start + 2]
    before = src[start - 1 : start]
    return bool(behind) and not (behind.isspace() or behind.isdigit()) and not before.isalnum()


def _unclosed_code_rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    """Switch citations off behind backticks that never close: the rest was meant as code."""
    start = state.pos
    if silent or state.src[start] != "`":
        return False
    end = start
    while end < state.posMax and state.src[end] == "`":
        end += 1
    runs = state.env.get("runs")
    if runs is None:
        runs = {len(run[0]): run.start() for run in re.finditer("`+", state.src)}
        state.env["runs"] = runs
    if runs.get(end - start, -1) <= start:
        state.env["literal_until"] = len(state.src)
    return False


def _link_rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    return _may_be_link(state, state.pos) and link(state, silent)


def _image_rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    is_image = state.src.startswith("![", state.pos)
    return is_image and _may_be_link(state, state.pos) and image(state, silent)


def _may_be_link(state: StateInline, start: int) -> bool:
    if state.src[start] not in "![":
        return False
    if "last_target" not in state.env:
        state.env["last_target"] = state.src.rfind("](")
        state.env["tried"] = set()
    if start >= state.env["last_target"]:
        return False
    tried: set[int] = state.env["tried"]
    if len(tried) >= MAX_BRACKETS and start not in tried:
        return False
    tried.add(start)
    return True


def parse(text: str, *, reference_count: int) -> list[Token]:
    """Return the tokens of one text; each of type ``citation`` has its number as content."""
    env: dict[str, Any] = {"reference_count": reference_count}
    return _MARKDOWN.inline.parse(text, _MARKDOWN, env, [])


def _build() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "maxNesting": 20})
    markdown.enable("strikethrough").disable("html_inline")
    # Addresses are judged by the link policy alone, as they were written.
    markdown.normalizeLink = lambda url: url  # type: ignore[method-assign]
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]
    rules = markdown.inline.ruler
    rules.before("escape", "math", _math_rule)
    rules.before("backticks", "unclosed_code", _unclosed_code_rule)
    rules.before("link", "citation", _citation_rule)
    rules.at("link", _link_rule)
    rules.at("image", _image_rule)
    return markdown


_MARKDOWN = _build()
