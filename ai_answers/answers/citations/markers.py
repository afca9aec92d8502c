"""Read one bracket of numbers: ``[2]``, ``[Source 2, 4]``, ``【2†source】``, ``[1-3]`` (M3, M4).

In: text and a position. Out: a ``Bracket``, or why there is none: ``WAIT`` (what is there may
still become one), ``FAIL`` (it cannot), ``CUT`` (the text ends inside its numbers).
The answer for a text holds for every longer text too, unless it is ``WAIT``: so a stream cut
anywhere is read alike. Looks at no more than the bracket. No Django and no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from .words import (
    CONJUNCTION_BEGINNINGS,
    CONJUNCTIONS,
    SOURCE_BEGINNINGS,
    SOURCE_WORDS,
)

CLOSERS = {"[": "]", "【": "】", "［": "］"}
BLANKS = " \t\r\f\v\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u3000"
DASHES = "-‐‑–—−~〜～"
MAX_TAIL = 64
"""Characters behind a ``†``."""
MAX_DIGITS = 30

_NO_NUMBER = frozenset("[【［*_<(（`\\")
_SEPARATORS = ",;，；、&＆"
_NUMBER = re.compile(r"\d+")
WORD = re.compile(r"[^\W\d_]+")
_BLANKS = re.compile(f"[{BLANKS}]*")
BEHIND_WORD = re.compile(f"[_-]?[{BLANKS}]*[:：.]?[{BLANKS}]*[#№]?[{BLANKS}]*")


class Status(Enum):
    """Why there is no marker at a place."""

    WAIT = "wait"
    FAIL = "fail"
    CUT = "cut"


WAIT, FAIL, CUT = Status.WAIT, Status.FAIL, Status.CUT


@dataclass(slots=True)
class Bracket:
    """The numbers of one bracket, not yet looked up."""

    end: int = 0
    items: list[tuple[str, str]] = field(default_factory=list)
    """First and last number as written; a single number stands twice."""
    is_bare: bool = True
    """Numbers only, in ``[…]``: what may also be a subscript or an interval."""
    is_comma_list: bool = True
    is_footnote: bool = False
    has_tail: bool = False
    is_foreign: bool = False
    """A handle of another system, ``7:2†…``."""


@dataclass(slots=True)
class Resolved:
    """What a bracket means where there are so many sources."""

    numbers: list[int]
    invalid: int


def resolve(bracket: Bracket, *, source_count: int) -> Resolved | None:
    """Look the numbers up; ``None``: the bracket is literal text (M3, M4, M5)."""
    if bracket.is_foreign:
        return Resolved([], 1)
    numbers: list[int] = []
    invalid = 0
    for first, last in bracket.items:
        low, high = int(first), int(last)
        if not low or not high or high < low:
            return None
        if high > source_count and len(last) > 2 and not bracket.has_tail:
            return None
        if low > source_count:
            invalid += 1
        else:
            numbers += range(low, min(high, source_count) + 1)
    return Resolved(numbers, invalid)


class BracketReader:
    """Reads the bracket that begins at one position."""

    def __init__(self, text: str, *, is_final: bool) -> None:
        self.text = text
        self.is_final = is_final

    def read(self, start: int) -> Bracket | Status:
        """Read the bracket at ``start``, which may stand behind backslashes (A27)."""
        text, at = self.text, start
        while at < len(text) and text[at] == "\\" and at - start < 2:
            at += 1
        if at == len(text):
            return self._short(has_number=False)
        closer = CLOSERS.get(text[at])
        if closer is None:
            return FAIL
        if text[at + 1 : at + 2] in _NO_NUMBER:
            return FAIL  # The usual case in nested brackets, seen at once.
        bracket = Bracket(is_bare=text[at] == "[" and at == start)
        return self.read_list(at + 1, closer, bracket=bracket, is_escaped=at > start)

    def read_list(
        self, at: int, closer: str, *, bracket: Bracket, is_escaped: bool = False
    ) -> Bracket | Status:
        """Read numbers up to ``closer``; words are allowed unless it is escaped."""
        text, items = self.text, bracket.items
        at = self._skip(at)
        if text[at : at + 1] == "^":
            bracket.is_footnote, bracket.is_bare = True, False
            at = self._skip(at + 1)
        while True:
            at_or_status = self._read_word(at, bracket, is_allowed=not is_escaped)
            if isinstance(at_or_status, Status):
                return at_or_status
            number = self._read_number(at_or_status, has_number=bool(items))
            if isinstance(number, Status):
                return number
            first = last = number[0]
            at = self._skip(number.end())
            if text[at : at + 1] and text[at] in DASHES:
                number = self._read_number(self._skip(at + 1), has_number=True)
                if isinstance(number, Status):
                    return number
                last = number[0]
                at = self._skip(number.end())
            items.append((first, last))
            if at == len(text):
                return self._short(has_number=True)
            step = self._read_separator(at, number.end(), bracket)
            if step is None:
                return self._read_end(at, closer, bracket, is_escaped=is_escaped)
            if isinstance(step, Status):
                return step
            at = step

    def _read_separator(self, at: int, end: int, bracket: Bracket) -> int | Status | None:
        """Return where the next number is expected; ``None`` when the list is over."""
        text = self.text
        if text[at] in _SEPARATORS:
            bracket.is_comma_list &= text[at] == ","
            at = self._skip(at + 1)
            word = WORD.match(text, at)
            if word and word.end() == len(text) and not self.is_final:
                beginnings = SOURCE_BEGINNINGS | CONJUNCTION_BEGINNINGS
                return WAIT if word[0].casefold() in beginnings else FAIL
            return word.end() if word and word[0].casefold() in CONJUNCTIONS else at
        word = WORD.match(text, at)
        if word:
            folded = word[0].casefold()
            if at == end and folded[0] < "\u2e80":
                return FAIL  # As in 1e3; Chinese and Japanese write no blank.
            if word.end() == len(text):
                is_open = folded in CONJUNCTION_BEGINNINGS
                return self._short(has_number=True) if is_open else FAIL
            bracket.is_comma_list = False
            return word.end() if folded in CONJUNCTIONS else FAIL
        if text[at].isdecimal() and at > end:
            bracket.is_comma_list = False
            return at
        return None

    def _read_end(
        self, at: int, closer: str, bracket: Bracket, *, is_escaped: bool
    ) -> Bracket | Status:
        text = self.text
        if text[at] == "^" and bracket.is_footnote:
            at = self._skip(at + 1)
        elif text[at] == ":" and len(bracket.items) == 1 and not is_escaped:
            number = self._read_number(self._skip(at + 1), has_number=True)
            if isinstance(number, Status):
                return number
            bracket.is_foreign = True
            at = number.end()
            if text[at : at + 1] not in ("†", ""):
                return FAIL
        behind = at
        while text[at : at + 1] == "\\" and at - behind < 2:
            at += 1
        if at == len(text):
            return self._short(has_number=True)
        if text[at] == "†" and at == behind:
            return self._read_tail(at + 1, closer, bracket)
        if text[at] != closer or bracket.is_foreign:
            return FAIL
        bracket.end = at + 1
        return bracket

    def _read_tail(self, at: int, closer: str, bracket: Bracket) -> Bracket | Status:
        tail = self.text[at : at + MAX_TAIL + 1]
        end = tail.find(closer)
        stop = min((i for i in (tail.find("\n"), tail.find("[")) if i >= 0), default=len(tail))
        if end < 0 or end > stop:
            is_open = stop == len(tail) <= MAX_TAIL
            return self._short(has_number=True) if is_open else FAIL
        bracket.has_tail, bracket.is_bare = True, False
        bracket.end = at + end + 1
        return bracket

    def _read_word(self, at: int, bracket: Bracket, *, is_allowed: bool) -> int | Status:
        """Skip blanks and a word such as ``Source:`` before a number."""
        text, has_number = self.text, bool(bracket.items)
        at = self._skip(at)
        if at == len(text):
            return self._short(has_number=has_number)
        word = WORD.match(text, at)
        if word is None:
            return at
        folded = word[0].casefold()
        if not is_allowed:
            return FAIL
        if word.end() == len(text):
            is_open = folded in SOURCE_BEGINNINGS
            return self._short(has_number=has_number) if is_open else FAIL
        if folded not in SOURCE_WORDS:
            return FAIL
        bracket.is_bare = False
        at = BEHIND_WORD.match(text, word.end()).end()  # type: ignore[union-attr]
        return self._short(has_number=has_number) if at == len(text) else at

    def _read_number(self, at: int, *, has_number: bool) -> re.Match[str] | Status:
        number = _NUMBER.match(self.text, at)
        if number is None:
            return self._short(has_number=has_number) if at == len(self.text) else FAIL
        if number.end() - at > MAX_DIGITS:
            return FAIL
        return self._short(has_number=True) if number.end() == len(self.text) else number

    def _skip(self, at: int) -> int:
        return _BLANKS.match(self.text, at).end()  # type: ignore[union-attr]

    def _short(self, *, has_number: bool) -> Status:
        """Say what a text that ends here is."""
        if not self.is_final:
            return WAIT
        return CUT if has_number else FAIL


def expand(numbers: Sequence[int], *, after: int, up_to: int, source_count: int) -> list[int]:
    """Fill the gap of a range written as two brackets, ``[1]-[3]`` (A10)."""
    return [*range(after + 1, min(up_to, source_count + 1)), *numbers]
