"""Cut a saved answer into what it claims, sentence by sentence, with the numbers behind each.

In: Markdown in which every unescaped ``[n]`` is a citation. Out: ``Claim`` values in order: the
sentences of paragraphs, list items and quotes, and table rows. Headings, code and display math
claim nothing. No Django, no I/O: feed it a string.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...chat_models.statements import flatten, split_sentences
from ..citations import FIRST_MARK, marked

_MARKS = re.compile("[\ue000-\uf8ff]+")
# A citation behind the full stop belongs to the sentence before it.
_BEHIND_END = re.compile(
    "([.!?\u2026\u3002\uff01\uff1f]+[\"'\u201d\u2019\u00bb)]*)([\ue000-\uf8ff]+)"
)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING = re.compile(r"\s{0,3}#{1,6}(?:\s|$)")
_QUOTE = re.compile(r"\s{0,3}(?:>\s?)+")
_SIGN = re.compile(r"\s*(?:[-*+]\s+|\d{1,9}[.)]\s+)+")
_ROW = re.compile(r"\s*\|")
_RULE = re.compile(r"[\s|:*_=-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One thing an answer says."""

    text: str
    """One line, without Markdown and citations."""
    indexes: tuple[int, ...] = ()
    """The citations in or directly behind it, as the reader sees them; each once."""


def claims_of(answer: str) -> list[Claim]:
    """Return the claims of a saved answer; what holds no letter and no digit is none."""
    claims = []
    for block in _blocks(marked(answer)):
        for sentence in split_sentences(flatten(_BEHIND_END.sub(r"\2\1", block))):
            numbers = [ord(mark) - FIRST_MARK for run in _MARKS.findall(sentence) for mark in run]
            text = " ".join(_MARKS.sub("", sentence).split())
            if any(sign.isalnum() for sign in text):
                claims.append(Claim(text=text, indexes=tuple(dict.fromkeys(numbers))))
    return claims


def _blocks(text: str) -> Iterator[str]:
    """Yield each paragraph, item or row as one line."""
    lines: list[str] = []
    row = fence = ""
    for line in (_QUOTE.sub("", line, count=1) for line in [*text.split("\n"), ""]):
        opening = _FENCE.match(line)
        if fence:
            if opening and opening[1].startswith(fence):
                fence = ""
            continue
        is_rule = bool(line.strip()) and _RULE.fullmatch(line) is not None
        if is_rule:
            # What stands over a rule is a heading, or names the columns of a table.
            lines, row = [], ""
            continue
        sign = _SIGN.match(line)
        is_row = bool(_ROW.match(line)) or (bool(row) and "|" in line)
        if opening or sign or is_row or _HEADING.match(line) or not line.strip():
            yield from (block for block in (" ".join(lines), row) if block)
            lines, row = [], ""
        if opening:
            fence = opening[1]
        elif is_row:
            row = " ".join(cell.strip() for cell in line.strip().strip("|").split("|"))
        elif not _HEADING.match(line) and line.strip():
            lines.append(line[sign.end() if sign else 0 :].strip())
