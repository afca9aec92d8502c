"""Find and drop lists of sources that the model wrote: definitions and tails (M8).

In: the start of a line. Out: whether what begins there is dropped, and then where it ends.
``find_tail`` looks at the heading's line and the first line behind it, ``MAX_LOOK``
characters at most; dropped lines are not held. No Django and no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from .groups import Group, GroupReader, TargetAt
from .markers import BLANKS, WAIT
from .words import TAIL_BEGINNINGS, TAIL_WORDS

MAX_LOOK = 256

_DECORATION = re.compile(r"(#{0,6})([ \t]*)([*_]{0,3})")
_BEHIND_WORD = re.compile(rf"[{BLANKS}]*[:：]?[*_]{{0,3}}[{BLANKS}]*[:：]?[{BLANKS}]*#*[{BLANKS}]*")
_ITEM_SIGN = re.compile(r"(?:[-*+•‣–]|[0-9]{1,3}[.)])[ \t]+")
_UNFINISHED_SIGN = re.compile(r"(?:[-*+•‣–]|[0-9]{1,3}[.)]?)[ \t]*\Z")
_UNDERLINE = re.compile(r"(?:=+|-{2,})[ \t]*")
_URL = re.compile(r"https?://|\bwww\.", re.IGNORECASE)
_URL_START = re.compile(r"<?(?:https?://|www\.)", re.IGNORECASE)
_LINK = re.compile(r"!?\[[^\[\]\n]*\](?:\(|\[)")
_EMPHASIS = re.compile(r"[*_\"“«„]{0,4}")
_URL_BEGINNINGS = ("<https://", "<http://", "https://", "http://", "www.", "<www.")
FIRST_LETTERS = frozenset(word[0] for word in TAIL_WORDS)

Titles = Sequence[str] | Callable[[], Sequence[str]]


def find_tail(text: str, *, is_final: bool, titles: Titles) -> int | None:
    """Return where the first line behind a tail's heading begins, 0 if there is no tail.

    ``None``: more text is needed. ``text`` begins at a line's first sign.
    """
    heading, line_break, behind = text.partition("\n")
    is_heading = _is_heading(heading, is_whole=bool(line_break) or is_final)
    if not is_heading:
        return 0 if is_heading is False else _wait(text, is_final=is_final)
    if not line_break:
        return _wait(text, is_final=is_final)
    underline = _UNDERLINE.match(behind)
    if underline:
        if underline.end() == len(behind):
            return _wait(text, is_final=is_final)
        if behind[underline.end()] == "\n":
            behind = behind[underline.end() :]
    first = behind.lstrip(BLANKS + "\n")
    if not first:
        return _wait(text, is_final=is_final)
    line, line_break, _ = first.partition("\n")
    if starts_item(line, is_final=is_final or bool(line_break), titles=titles, is_first=True):
        return len(text) - len(first) if len(text) - len(first) <= MAX_LOOK else 0
    return 0 if line_break else _wait(text, is_final=is_final)


def _wait(text: str, *, is_final: bool) -> int | None:
    return 0 if is_final or len(text) > MAX_LOOK else None


def _is_heading(line: str, *, is_whole: bool) -> bool | None:
    decoration = _DECORATION.match(line)
    rest = line[decoration.end() :]  # type: ignore[union-attr]
    if not rest:
        return False if is_whole else None
    folded = rest.casefold()
    if folded[0] not in FIRST_LETTERS:
        return False
    if not is_whole and folded in TAIL_BEGINNINGS:
        return None
    for size in range(min(len(folded), 40), 0, -1):
        if folded[:size] in TAIL_WORDS and _BEHIND_WORD.fullmatch(folded, size):
            return True if is_whole else None
    return False


def starts_item(line: str, *, is_final: bool, titles: Titles, is_first: bool) -> bool | None:
    """Whether a tail's line is an item; ``None``: more text is needed.

    The first one must show that the tail lists sources; later ones may be any list's items.
    """
    sign = _ITEM_SIGN.match(line)
    if sign and not is_first:
        return True
    if not sign and not is_final and _UNFINISHED_SIGN.fullmatch(line):
        return None
    body = line[sign.end() :] if sign else line
    if is_first and _URL.search(body):
        return True
    body = body[_EMPHASIS.match(body).end() :]  # type: ignore[union-attr]
    if not body:
        return None if not is_final else False
    if _URL_START.match(body) or _LINK.match(body):
        return True
    if body[0] in "[【［\\<(":
        reader = GroupReader(body[:100], is_final=is_final, source_count=99)
        group = reader.read(0) if body[0] not in "<(" else False
        if isinstance(group, Group | TargetAt):
            return True
        if group is WAIT and len(body) <= 100:
            return None
        if body[0] == "[" and "]" not in body and not is_final and len(line) <= MAX_LOOK:
            return None
        if body[0] == "[" and body.find("]") == len(body) - 1 and not is_final:
            return None
    folded = body.casefold()
    is_open = False
    for title in titles() if callable(titles) else titles:
        wanted = title.strip().casefold()
        if wanted and folded.startswith(wanted):
            return True
        is_open |= wanted.startswith(folded)
    is_open |= any(address.startswith(folded) for address in _URL_BEGINNINGS)
    return None if is_open and not is_final and len(line) <= MAX_LOOK else False


class Drop:
    """Drops a definition, or a tail from its first line on."""

    def __init__(self, *, is_tail: bool, titles: Titles = (), is_plain: bool = False) -> None:
        self.behind = ""
        """Blanks and line breaks since the last line that was dropped."""
        self._is_tail = is_tail
        self._titles = titles
        self._is_plain = is_plain
        self._in_line = True

    def take(self, text: str, at: int, *, is_final: bool) -> tuple[int, bool | None]:
        """Drop on from ``at``: where it stopped, and whether it is over (``None``: waits)."""
        while at < len(text):
            if self._in_line:
                end = text.find("\n", at)
                if end < 0:
                    return len(text), False
                at, self._in_line, self.behind = end, False, ""
                continue
            sign = text[at]
            if sign == "\n" or sign in BLANKS:
                self.behind = (self.behind + sign)[-16:]
                at += 1
                continue
            goes_on = self._goes_on(text, at, is_final=is_final)
            if goes_on is None:
                return at, None
            if not goes_on:
                return at, True
            self._in_line = True
        return at, False

    def _goes_on(self, text: str, at: int, *, is_final: bool) -> bool | None:
        """Whether the line that begins at ``at`` is dropped too."""
        is_indented = not self.behind.endswith("\n")
        if not self._is_tail:
            return is_indented and self.behind.count("\n") == 1
        if is_indented:
            return True
        line, line_break, _ = text[at : at + MAX_LOOK + 2].partition("\n")
        is_whole = is_final or bool(line_break)
        # Lines without any sign, each with its address, go on while no blank line parts them.
        is_first = self._is_plain and self.behind.count("\n") == 1
        is_item = starts_item(line, is_final=is_whole, titles=self._titles, is_first=is_first)
        if is_item is False and is_first and not is_whole and len(line) <= MAX_LOOK:
            return None
        return is_item
