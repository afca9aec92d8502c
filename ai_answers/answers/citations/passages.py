"""Pass over code, math, addresses, tags and targets, and know where they end.

In: text that waits in ``_text`` from ``_at`` on. Out: all of it, unchanged, in the writer.
Nothing in a passage is held, but the blanks in a link's target and a bracket in a tag.
``scanner`` builds on it. No Django and no I/O.
"""

from __future__ import annotations

from .blocks import Blocks
from .emphasis import Emphasis
from .markers import BLANKS
from .spans import CODE_TAGS, Code, Math, Span, Tag, TaggedCode
from .targets import Target
from .writer import Writer


class Passages:
    """The state of a reader, and its steps outside plain text."""

    def __init__(self) -> None:
        self._start_over()

    def _start_over(self) -> None:
        self._writer = Writer()
        self._blocks = Blocks()
        self._emphasis = Emphasis()
        self._text = ""
        self._is_final = False  # Nothing follows ``_text``.
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

    def _take_blank(self, sign: str) -> None:
        raise NotImplementedError

    def _end_line(self, line: str) -> None:
        raise NotImplementedError

    def _put(self, text: str, *, last: str = "text", is_raw: bool = False) -> None:
        raise NotImplementedError

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

    def _step_span(self) -> bool:
        span = self._span
        if span is None:
            return True
        if self._span_line is not None and not self._step_span_line(span):
            return True
        text, at = self._text, self._at
        stop = at + 1 if self._span_line is not None else len(text)
        end = span.take(text[:stop] if stop < len(text) else text, at, is_final=self._is_final)
        if end > at:
            if span.is_escaped:
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
        self._writer.last = "display"  # No marker is joined to what never closed.
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
