"""Walk through Markdown text that arrives in pieces and know where markers may stand.

In: text, cut anywhere. Code, math, addresses and tags pass through unchanged; blanks wait for
the character behind them. What a bracket, a wrapper or a line's start means is decided by the
subclass: ``resolver`` reads a model's text, ``saved`` reads what the resolver wrote.
No Django and no I/O.
"""

from __future__ import annotations

import re

from .markers import BLANKS
from .names import LOOK_BACK
from .passages import Passages
from .spans import MAX_BLANKS, Code, IndentedCode, Math, Span, Tag, Url
from .targets import Target

MAX_HELD = 32
_PIECE = 4096

_SPECIAL = re.escape("[]【［(（*_~^<\\`$!/" + BLANKS) + r"\n"
_PLAIN = re.compile(f"[^{_SPECIAL}]+(?: [^{_SPECIAL}]+)*")
_PLAIN_PIECE = re.compile(f"( ?[^{_SPECIAL}]+(?: [^{_SPECIAL}]+)*)( ?)")
_SCHEME = re.compile(r"(<)?[A-Za-z][A-Za-z0-9+.-]{1,15}:/\Z")
_SPACE = frozenset(BLANKS + "\n")


class Scanner(Passages):
    """Base of the readers; see the module."""

    def _read_plain(self, text: str) -> str | None:
        """Return what may leave if ``text`` is plain and nothing else waits: most is."""
        writer = self._writer
        if self._text or writer.last != "text" or not self._is_in_text():
            return None
        plain = _PLAIN_PIECE.fullmatch(text)
        if plain is None or (self._gap and text[0] == " "):
            return None
        shown, self._gap = self._gap + plain[1], plain[2]
        self._base += len(text)
        writer.recent = (writer.recent + shown)[-LOOK_BACK:]
        return shown

    def _is_in_text(self) -> bool:
        return not (
            self._is_line_start
            or self._span is not None
            or self._blocks.fence is not None
            or self._destination is not None
            or self._writer.is_open_bracket
        )

    def _read(self, text: str, *, is_final: bool = False) -> None:
        for start in range(0, len(text), _PIECE):
            self._text += text[start : start + _PIECE]
            self._run(is_final=False)
        if is_final:
            self._run(is_final=True)

    def _run(self, *, is_final: bool) -> None:
        self._is_final = is_final
        while self._at < len(self._text):
            if not self._step():
                break
        self._base += self._at
        self._text = self._text[self._at :]
        self._at = 0

    def _step(self) -> bool:
        """Consume something; return whether that was possible."""
        if self._span is not None:
            return self._step_span()
        if self._blocks.fence is not None:
            return self._step_fence()
        if self._destination is not None:
            return self._step_destination()
        return self._step_text()

    # Text

    def _step_text(self) -> bool:
        text, at = self._text, self._at
        sign = text[at]
        if self._writer.last == "bracket" and self._step_behind_bracket(sign):
            return True
        if sign in _SPACE:
            self._take_blank(sign)
            return True
        if self._is_line_start:
            goes_on = self._start_line()
            if goes_on is not True:
                return goes_on is False
        if self._writer.last == "marker":
            done = self._step_behind_marker(sign)
            if done is not None:
                return done
        plain = _PLAIN.match(text, at)
        if plain:
            self._put(plain[0])
            return True
        return self._step_special(sign)

    def _step_special(self, sign: str) -> bool:
        writer = self._writer
        if sign == "`":
            self._begin(Code())
        elif sign == "$":
            before = self._before()
            self._begin(Math(can_open=not (before.isalnum() or before == "$")))
        elif sign == "/":
            scheme = None if self._gap else _SCHEME.search(writer.recent[-19:])
            self._put("/")
            if scheme:
                self._open_address(is_bare=not scheme[1])
        elif sign == "]":
            self._put("]", last="bracket")
            writer.depth = max(0, writer.depth - 1)
        elif sign in "*_~":
            return self._step_emphasis()
        else:
            return self._step_opener(sign)
        return True

    def _open_address(self, *, is_bare: bool) -> None:
        self._span = Url(is_bare=is_bare)

    def _step_behind_bracket(self, sign: str) -> bool:
        """Open a link's target, or cite what was found in the link's text."""
        writer = self._writer
        if sign == "(" and not self._gap:
            writer.raw("(")
            self._at += 1
            self._destination = Target()
            self._destination.feed("(")
            return True
        if writer.pending and not writer.depth:
            writer.release_pending()
        return False

    def _step_behind_marker(self, sign: str) -> bool | None:
        """Read what may belong to the marker before; ``None``: nothing does."""
        return None

    def _step_emphasis(self) -> bool:
        text = self._text[self._at : self._at + 8]
        closing = self._emphasis.closing(text, before=self._before(), is_final=self._is_final)
        if not isinstance(closing, int):
            return False
        if closing:
            self._put(self._text[self._at : self._at + closing])
            return True
        return self._step_opener(text[0])

    def _step_opener(self, sign: str) -> bool:
        """Read what may be a marker or its wrapper."""
        return self._pass_opener(sign)

    def _pass_opener(self, sign: str) -> bool:
        """Let a sign through that begins no marker; return whether it could be decided."""
        if sign == "\\":
            following = self._text[self._at + 1 : self._at + 2]
            if not following and not self._is_final:
                return False
            if following and following in "[(":
                self._put("\\" + following, is_raw=True)
                self._span = Math("\\]" if following == "[" else "\\)")
            else:
                is_pair = following.isascii() and following.isprintable()
                is_pair = is_pair and not following.isalnum() and following != " "
                self._put(self._text[self._at : self._at + 1 + is_pair])
        elif sign == "<":
            self._put("<")
            self._span = Tag()
        elif sign in "*_~":
            text = self._text[self._at : self._at + 8]
            size = self._emphasis.open(text, before=self._before())
            self._put(text[:size])
        else:
            self._put(sign)
        return True

    def _put(self, text: str, *, last: str = "text", is_raw: bool = False) -> None:
        """Let the held blanks and the next characters through; they are ``text``."""
        gap, self._gap = self._gap, ""
        if is_raw:
            self._writer.text(gap)
            self._writer.raw(text, last=last)
        else:
            self._writer.text(gap + text, last=last)
        self._at += len(text)
        self._is_line_head = False

    def _release_gap(self) -> None:
        gap, self._gap = self._gap, ""
        self._writer.text(gap, last="sign" if self._writer.last == "sign" else "text")

    def _begin(self, span: Span) -> None:
        self._release_gap()
        self._is_line_head = False
        self._span = span

    def _before(self) -> str:
        """Return the character before the next one; empty at the start."""
        return self._gap[-1:] or self._writer.recent[-1:]

    # Blanks and lines

    def _take_blank(self, sign: str) -> None:
        writer = self._writer
        self._at += 1
        if sign == "\n":
            writer.depth = 0
            writer.release_pending()
            is_blank = "\n" in self._gap
            self._end_line("" if is_blank else writer.recent.rpartition("\n")[2])
            if is_blank:
                self._emphasis.reset()
        elif self._is_line_start and len(self._lead) < 64:
            self._lead += sign
        self._gap += sign
        if len(self._gap) > MAX_BLANKS:
            first, self._gap = self._gap[0], self._gap[1:]
            writer.text(first, last="sign" if writer.last == "sign" else "text")

    def _end_line(self, line: str) -> None:
        self._blocks.newline(line)
        self._is_line_start = True
        self._is_line_head = False
        self._lead = ""

    def _start_line(self) -> bool | None:
        """Read a line's signs: ``True``: text begins, ``False``: read on, ``None``: wait."""
        limit = MAX_HELD - len(self._gap)
        rest, line_break, _ = self._text[self._at : self._at + limit].partition("\n")
        is_whole = bool(line_break) or self._is_final or len(rest) == limit
        line = self._blocks.start(self._lead, rest, is_whole=is_whole)
        if line is None:
            return None
        if line.kind in ("item", "quote", "heading"):
            self._take_sign(line.kind, line.length)
            return False
        self._is_line_start = False
        if line.kind == "fence":
            self._open_fence(line.length)
            return False
        if line.kind == "code":
            self._begin(IndentedCode())
            return False
        self._is_line_head = line.kind == "text" and self._writer.last != "sign"
        return True

    def _take_sign(self, kind: str, length: int) -> None:
        self._put(self._text[self._at : self._at + length], last="sign")
        self._lead = ""
        self._is_line_start = kind != "heading"
        if kind != "quote" or not self._blocks.is_same_quote:
            self._emphasis.reset()
