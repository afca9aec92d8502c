"""Walk through Markdown text that arrives in pieces and know where markers may stand.

In: text, cut anywhere. Code, math, addresses and tags pass through unchanged; blanks wait for
the character behind them. What a bracket, a wrapper or a line's start means is decided by the
subclass: ``resolver`` reads a model's text, ``saved`` reads what the resolver wrote.
No Django and no I/O.
"""

from __future__ import annotations

import re

from .blocks import Blocks
from .emphasis import Emphasis
from .markers import BLANKS
from .spans import (
    CODE_TAGS,
    MAX_BLANKS,
    Code,
    IndentedCode,
    Math,
    Span,
    Tag,
    TaggedCode,
    Target,
    Url,
)
from .writer import Writer

MAX_HELD = 32
_PIECE = 4096

_SPECIAL = re.escape("[]【［(（*_~^<\\`$!/" + BLANKS) + r"\n"
_PLAIN = re.compile(f"[^{_SPECIAL}]+(?: [^{_SPECIAL}]+)*")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,15}:/\Z")
_SPACE = frozenset(BLANKS + "\n")


class Scanner:
    """Base of the readers; see the module."""

    def __init__(self) -> None:
        self._start_over()

    def _start_over(self) -> None:
        self._writer = Writer()
        self._blocks = Blocks()
        self._emphasis = Emphasis()
        self._text = ""
        self._at = 0
        self._base = 0  # How many characters went before ``_text``.
        self._gap = ""  # Blanks and line breaks that wait.
        self._lead = ""  # White space since the line's start or its last sign.
        self._is_line_start = True
        self._is_line_head = False  # At a line's first text, behind no sign.
        self._span: Span | None = None
        self._span_line: str | None = None  # The line's start, inside a span.
        self._fence_line: str | None = None  # The same in a fence; ``None`` further on.
        self._is_info = False
        self._destination: Target | None = None

    def _read(self, text: str, *, is_final: bool = False) -> None:
        for start in range(0, len(text), _PIECE):
            self._text += text[start : start + _PIECE]
            self._run(is_final=False)
        if is_final:
            self._run(is_final=True)

    def _run(self, *, is_final: bool) -> None:
        while self._at < len(self._text):
            if not self._step(is_final):
                break
        self._base += self._at
        self._text = self._text[self._at :]
        self._at = 0

    def _step(self, is_final: bool) -> bool:  # noqa: FBT001 the inner loop
        """Consume something; return whether that was possible."""
        if self._span is not None:
            return self._step_span(is_final)
        if self._blocks.fence is not None:
            return self._step_fence()
        if self._destination is not None:
            return self._step_destination()
        return self._step_text(is_final)

    # Text

    def _step_text(self, is_final: bool) -> bool:  # noqa: FBT001
        text, at = self._text, self._at
        sign = text[at]
        if self._writer.last == "bracket" and self._step_behind_bracket(sign):
            return True
        if sign in _SPACE:
            self._take_blank(sign)
            return True
        if self._is_line_start:
            goes_on = self._start_line(is_final)
            if goes_on is not True:
                return goes_on is False
        if self._writer.last == "marker":
            done = self._step_behind_marker(sign, is_final)
            if done is not None:
                return done
        plain = _PLAIN.match(text, at)
        if plain:
            self._put(plain[0])
            return True
        return self._step_special(sign, is_final)

    def _step_special(self, sign: str, is_final: bool) -> bool:  # noqa: FBT001
        writer = self._writer
        if sign == "`":
            self._begin(Code())
        elif sign == "$":
            before = self._before()
            self._begin(Math(can_open=not (before.isalnum() or before == "$")))
        elif sign == "/":
            is_address = not self._gap and _SCHEME.search(writer.recent[-18:]) is not None
            self._put("/")
            if is_address:
                self._span = Url()
        elif sign == "]":
            self._put("]", last="bracket")
            writer.depth = max(0, writer.depth - 1)
        elif sign in "*_~":
            return self._step_emphasis(is_final)
        else:
            return self._step_opener(sign, is_final)
        return True

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

    def _step_behind_marker(self, sign: str, is_final: bool) -> bool | None:  # noqa: FBT001
        """Read what may belong to the marker before; ``None``: nothing does."""
        return None

    def _step_emphasis(self, is_final: bool) -> bool:  # noqa: FBT001
        text = self._text[self._at : self._at + 8]
        closing = self._emphasis.closing(text, before=self._before(), is_final=is_final)
        if not isinstance(closing, int):
            return False
        if closing:
            self._put(self._text[self._at : self._at + closing])
            return True
        return self._step_opener(text[0], is_final)

    def _step_opener(self, sign: str, is_final: bool) -> bool:  # noqa: FBT001
        """Read what may be a marker or its wrapper."""
        return self._pass_opener(sign, is_final)

    def _pass_opener(self, sign: str, is_final: bool) -> bool:  # noqa: FBT001
        """Let a sign through that begins no marker; return whether it could be decided."""
        if sign == "\\":
            following = self._text[self._at + 1 : self._at + 2]
            if not following and not is_final:
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

    def _start_line(self, is_final: bool) -> bool | None:  # noqa: FBT001
        """Read a line's signs: ``True``: text begins, ``False``: read on, ``None``: wait."""
        limit = MAX_HELD - len(self._gap)
        rest, line_break, _ = self._text[self._at : self._at + limit].partition("\n")
        is_whole = bool(line_break) or is_final or len(rest) == limit
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

    # Fenced code

    def _open_fence(self, length: int) -> None:
        sign = self._text[self._at : self._at + length]
        self._put(sign, is_raw=True)
        self._emphasis.reset()
        self._enter_fence(sign)

    def _enter_fence(self, sign: str) -> None:
        if self._blocks.fence:
            self._blocks.fence.sign = sign
        self._is_line_start = False
        self._is_info, self._fence_line = True, None

    def _step_fence(self) -> bool:
        fence = self._blocks.fence
        if self._fence_line is not None:
            return self._step_fence_line(self._fence_line)
        end = self._text.find("\n", self._at)
        stop = len(self._text) if end < 0 else end
        if self._is_info and fence and fence.sign[0] == "`":
            tick = self._text.find("`", self._at, stop)
            if tick >= 0:
                # No info string holds a backtick: it was inline code after all.
                self._pass(tick)
                self._blocks.fence, self._blocks.kind = None, "text"
                self._span = Code(size=len(fence.sign))
                return True
        self._pass(stop)
        if end >= 0:
            self._pass(end + 1)
            self._blocks.newline("")
            self._is_info, self._fence_line = False, ""
        return True

    def _step_fence_line(self, line: str) -> bool:
        sign = self._text[self._at]
        is_whole = sign == "\n"
        if not is_whole:
            line += sign
        body = line.lstrip(" \t")
        lead = line[: len(line) - len(body)]
        state = self._blocks.in_fence(lead, body, is_whole=is_whole)
        if state == "ended":
            self._blocks.fence = None
            self._is_line_start, self._lead = True, lead
        elif state == "closes":
            self._blocks.fence = None
        elif is_whole:
            self._pass(self._at + 1)
            self._blocks.newline("")
            self._fence_line = ""
        else:
            self._pass(self._at + 1)
            self._fence_line = line if state is None and len(line) < 200 else None
        return True

    def _pass(self, end: int) -> None:
        self._writer.raw(self._text[self._at : end])
        self._at = end

    # Spans

    def _step_span(self, is_final: bool) -> bool:  # noqa: FBT001
        span = self._span
        if span is None:
            return True
        if self._span_line is not None and not self._step_span_line(span):
            return True
        text, at = self._text, self._at
        stop = at + 1 if self._span_line is not None else len(text)
        end = span.take(text[:stop] if stop < len(text) else text, at, is_final=is_final)
        if end > at:
            if isinstance(span, Tag | TaggedCode):
                self._writer.text(text[at:end])
            else:
                self._writer.raw(text[at:end])
            self._at = end
        if not span.is_open:
            self._close_span(span)
        elif end < len(text) and text[end] == "\n" and (end == at or self._span_line is None):
            if not span.survives_line():
                self._span = None
                return True
            self._writer.raw("\n")
            self._at += 1
            self._end_line("")
            self._span_line = ""
        return end > at or self._at > at or not span.is_open

    def _close_span(self, span: Span) -> None:
        self._span = self._span_line = None
        self._is_line_start = False
        if isinstance(span, Math) and span.is_display:
            self._writer.last = "display"
        if isinstance(span, Tag) and span.is_closed and span.name.lower() in CODE_TAGS:
            self._span = TaggedCode(span.name)

    def _step_span_line(self, span: Span) -> bool:
        """Look at a line's start inside a span; ``False``: the span is over there."""
        sign, line = self._text[self._at], self._span_line or ""
        if sign == "\n":
            return self._step_span_line_end(span, line)
        if not isinstance(span, Code):
            if sign not in BLANKS:
                self._span_line = None
                self._blocks.start("", "x", is_whole=True)
            return True
        if sign in BLANKS and not line.strip(BLANKS):
            self._span_line = line + sign
            return True
        line += sign
        rest = line.lstrip(BLANKS)
        found = self._blocks.start(line[: len(line) - len(rest)], rest, is_whole=False)
        self._span_line = line
        if found is None:
            return True
        if found.kind in ("text", "code"):
            self._span_line = None
            return True
        if found.kind == "quote" and self._blocks.is_same_quote:
            self._span_line = ""
            return True
        self._leave_code(found.kind, rest)
        return False

    def _step_span_line_end(self, span: Span, line: str) -> bool:
        """A line ended inside a span before it showed what it is."""
        rest = line.strip(BLANKS)
        if rest and not isinstance(span, Code):
            return True
        found = self._blocks.start("", rest, is_whole=True) if rest else None
        if found and found.kind in ("text", "code", "quote"):
            return True
        self._span = self._span_line = None
        if found and found.kind == "fence":
            self._enter_fence(rest)
        return False

    def _leave_code(self, kind: str, rest: str) -> None:
        """Another block begins: the code was never closed."""
        self._span = self._span_line = None
        self._emphasis.reset()
        self._lead = ""
        self._is_line_start = kind in ("item", "quote")
        if kind == "quote":
            self._put(">", last="sign")
        elif kind == "fence":
            self._enter_fence(rest[:-1])
        elif kind != "table":
            self._writer.last = "sign"

    # Targets of links

    def _step_destination(self) -> bool:
        sign = self._text[self._at]
        ends = self._destination.feed(sign) if self._destination else None
        if ends is None:
            self._destination = None
            self._writer.last = "text"
            self._release_behind_link()
        elif sign in BLANKS:
            self._take_blank(sign)
        else:
            self._put(sign, is_raw=True, last="link")
            if ends:
                self._destination = None
                self._release_behind_link()
        return True

    def _release_behind_link(self) -> None:
        if self._writer.pending and not self._writer.depth:
            self._writer.release_pending()
