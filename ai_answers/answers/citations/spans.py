"""Stretches of text in which no marker counts: code, math, addresses, tags (M2).

In: text, from a position on. Out: how far it belongs to the span; ``is_open`` tells whether
more of it may follow. Spans hold nothing back and change nothing, they only look. All of them
stop before a line break, so that the caller can watch for the end of the block.
No Django and no I/O.
"""

from __future__ import annotations

import re

from .markers import BLANKS

MAX_BLANKS = 8
"""Blanks that wait for the character behind them."""

_CODE_STOP = re.compile(r"[`\n]")
_URL_TEXT = re.compile(
    r"[^\s<>\"`|*()\[\]{}\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef«»“”„]+"
)
_TAG_NAME = re.compile(r"[A-Za-z0-9-]+")
_LITERAL = re.compile(r"\[[0-9]{0,20}(?![0-9])")
CODE_TAGS = frozenset(("code", "pre", "kbd", "samp", "tt", "script", "style"))


class Span:
    """What all spans share."""

    is_open = True
    is_escaped = False
    """Whether a literal ``[2]`` in it must be escaped: a reader of the saved text sees no
    end of the span that a citation could stand behind."""

    def take(self, text: str, at: int, *, is_final: bool) -> int:
        """Return where the span, or what is there of it, ends."""
        raise NotImplementedError

    def survives_line(self) -> bool:
        """Whether the span may go on behind a line break."""
        return False


class IndentedCode(Span):
    """The rest of one line of an indented block."""

    def take(self, text: str, at: int, *, is_final: bool) -> int:
        end = text.find("\n", at)
        return len(text) if end < 0 else end


class Code(Span):
    """Inline code, from its opening backticks on."""

    def __init__(self, *, size: int = 0) -> None:
        self._size = size
        self._run = 0

    def take(self, text: str, at: int, *, is_final: bool) -> int:
        while at < len(text):
            if text[at] == "`":
                self._run += 1
                at += 1
                continue
            if not self._size:
                self._size = self._run
            elif self._run == self._size:
                self.is_open = False
                return at
            self._run = 0
            stop = _CODE_STOP.search(text, at)
            at = stop.start() if stop else len(text)
            if stop and stop[0] == "\n":
                return at
        return at

    def survives_line(self) -> bool:
        return True


class Math(Span):
    """Math, from behind its opener on; without ``closer`` from its dollar signs on."""

    def __init__(self, closer: str = "", *, can_open: bool = True) -> None:
        self.closer = closer
        self._can_open = can_open
        self._dollars = 0
        self._is_escaped = False
        self._letters = -1  # -1: not in a word that stands behind a blank.

    @property
    def is_display(self) -> bool:
        return self.closer in ("$$", "\\]")

    def take(self, text: str, at: int, *, is_final: bool) -> int:
        while at < len(text):
            sign = text[at]
            if not self.closer:
                if sign == "$":
                    self._dollars += 1
                    at += 1
                    continue
                if not self._open(sign):
                    self.is_open = False
                    return at
            if sign == "\n" or self._ends_at_word(sign):
                self.is_open = sign == "\n"
                return at
            at += 1
            if self._closes(sign):
                self.is_open = False
                return at
        return at

    def _open(self, sign: str) -> bool:
        if self._dollars == 1 and self._can_open and not (sign.isspace() or sign.isdigit()):
            self.closer = "$"
        elif self._dollars == 2:
            self.closer = "$$"
        self._dollars = 0
        return bool(self.closer)

    def _closes(self, sign: str) -> bool:
        if self._is_escaped:
            self._is_escaped = False
            return self.closer == "\\" + sign
        self._is_escaped = sign == "\\"
        self._dollars = self._dollars + 1 if sign == "$" else 0
        return self._dollars > 0 and self._dollars == len(self.closer) and self.closer[0] == "$"

    def _ends_at_word(self, sign: str) -> bool:
        """A plain word shows that the sign meant money or a variable."""
        if self.closer != "$":
            return False
        if sign.isalpha() and self._letters >= 0:
            self._letters += 1
        elif self._letters >= 3 and (sign.isspace() or sign in ",.;:!?"):
            return True
        else:
            self._letters = 0 if sign.isspace() else -1
        return False

    def survives_line(self) -> bool:
        return self.closer not in ("", "$")


def _is_unfinished(text: str, at: int) -> bool:
    """Whether ``[`` may still become ``[2]``: it is let through in one piece."""
    literal = _LITERAL.match(text, at)
    return (literal is None or literal.end() == len(text)) and len(text) - at <= 20


class Url(Span):
    """A bare address; closing brackets that it did not open end it."""

    def __init__(self, *, is_bare: bool = True) -> None:
        self.is_escaped = is_bare
        self._closers: list[str] = []

    def take(self, text: str, at: int, *, is_final: bool) -> int:
        while at < len(text):
            run = _URL_TEXT.match(text, at)
            if run:
                at = run.end()
                continue
            sign = text[at]
            if sign in "([{":
                if sign == "[" and not is_final and _is_unfinished(text, at):
                    return at
                if len(self._closers) < 50:
                    self._closers.append(")]}"["([{".index(sign)])
            elif self._closers and sign == self._closers[-1]:
                self._closers.pop()
            else:
                self.is_open = False
                return at
            at += 1
        return at


class Tag(Span):
    """An HTML tag, from behind its ``<`` on, if it is one. Only attribute values matter."""

    is_escaped = True

    def __init__(self) -> None:
        self.name = ""
        self.is_closed = False
        """Whether it ended with its ``>``."""
        self._state = "name"
        self._quote = ""

    def take(self, text: str, at: int, *, is_final: bool) -> int:
        while at < len(text):
            sign = text[at]
            if sign == "\n":
                return at
            if self._state != "value" and sign in BLANKS and not is_final:
                # Held, as it may stand before a marker if this is no tag.
                behind = text[at : at + MAX_BLANKS + 1].lstrip(BLANKS)
                if not behind and len(text) - at <= MAX_BLANKS:
                    return at
            if self._state != "value" and sign in BLANKS and not self._goes_on(text, at):
                self.is_open = False
                return at
            is_value = self._state in ("value", "equals") and sign == "["
            if is_value and not is_final and _is_unfinished(text, at):
                return at
            if not self._step(sign):
                self.is_open = False
                return at
            at += 1
            if self.is_closed:
                self.is_open = False
                return at
        return at

    def _goes_on(self, text: str, at: int) -> bool:
        behind = text[at : at + MAX_BLANKS + 1].lstrip(BLANKS)[:1]
        is_value = self._state == "equals" and behind not in ("", "[")
        return is_value or (behind.isalpha() or behind in tuple("_:@/>="))

    def _step(self, sign: str) -> bool:
        state = self._state
        if state == "value":
            if sign == self._quote or (not self._quote and sign.isspace()):
                self._state = "between"
            elif not self._quote and sign == ">":
                self.is_closed = True
            return True
        if state == "name" and (_TAG_NAME.match(sign) or (sign == "/" and not self.name)):
            self.name = (self.name + sign)[:20]
            return True
        if state == "name" and not self.name.strip("/"):
            return False
        if state == "equals" and not sign.isspace():
            self._state = "value"
            self._quote = sign if sign in "\"'" else ""
            self.is_closed = sign == ">"
            return True
        if sign == ">":
            self.is_closed = True
        elif sign.isspace() or sign == "/":
            self._state = "between" if state != "equals" else state
        elif sign == "=" and state == "attribute":
            self._state = "equals"
        elif state != "name" and (sign.isalnum() or sign in "_:@.-"):
            self._state = "attribute"
        else:
            return False
        return True


class TaggedCode(Span):
    """Text between ``<code>`` and ``</code>``."""

    is_escaped = True

    def __init__(self, name: str) -> None:
        self._closer = f"</{name.lower()}>"
        self._seen = ""

    def take(self, text: str, at: int, *, is_final: bool) -> int:
        while at < len(text):
            sign = text[at]
            if sign == "\n":
                return at
            if sign == "[" and not is_final and _is_unfinished(text, at):
                return at
            at += 1
            self._seen = (self._seen + sign.lower())[-len(self._closer) :]
            if self._seen == self._closer:
                self.is_open = False
                return at
        return at

    def survives_line(self) -> bool:
        return True
