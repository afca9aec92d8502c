"""Turn the citation markers in model text into citations; let all other text through.

In: text, cut anywhere. Out: ``TextDelta``, and ``SourceCited`` where a valid marker stood.
Holds back the shortest end that may still become a marker: ``MAX_HELD`` characters, a link's
target up to ``MAX_TARGET``, the heading of a model-written list of sources up to 256.
What is decided depends on the characters seen, never on where a piece ended.
No Django and no I/O: feed it pieces and join what comes.
"""

from __future__ import annotations

import re

from ...events import SourceCited, TextDelta
from .groups import SEPARATORS, STARTS, Group, TargetAt, add_range
from .links import LinkReader, View
from .markers import BLANKS, CUT, DASHES, FAIL, WAIT, Status
from .names import is_identifier, is_in_address, is_interval, is_used_as_code, name_before
from .spans import Url
from .tails import FIRST_LETTERS, MAX_LOOK, Drop, Titles, find_tail, starts_item

_DEFINITION = re.compile(r"\[\^?(\d{1,30})\][:：]")
_MAYBE_DEFINITION = re.compile(r"\[\^?\d{1,30}\]\Z")


class CitationResolver(LinkReader):
    """The grammar stage; see the module and ``docs/citations.md``."""

    def __init__(self, *, source_count: int = 0, titles: Titles = ()) -> None:
        super().__init__()
        self.source_count = source_count
        """Sources that numbers may name, 1 to this; raise it when a round adds some."""
        self.titles = titles
        """Titles of the sources, to know a list of them when the model writes one."""
        self.invalid_citations = 0
        """Numbers that no source bears, taken out so far (M4)."""

    def _start_over(self) -> None:
        super()._start_over()
        self._drop: Drop | None = None
        self._gap_before_drop = ""

    def feed(self, text: str) -> list[TextDelta | SourceCited]:
        """Take the next piece; return what is decided by it."""
        plain = self._read_plain(text)
        if plain is not None:
            return [TextDelta(plain)]
        self._read(text)
        return self._writer.take()

    def flush(self) -> list[TextDelta | SourceCited]:
        """End the text: a marker cut short is dropped, everything else is let through."""
        self._read("", is_final=True)
        self._writer.depth = 0
        self._writer.release_pending()
        self._release_gap()
        events = self._writer.take()
        self._start_over()
        return events

    def _step(self) -> bool:
        if self._drop is not None:
            return self._step_drop(self._drop)
        return super()._step()

    def _is_in_text(self) -> bool:
        return self._drop is None and super()._is_in_text()

    # Markers

    def _step_opener(self, sign: str) -> bool:
        if sign == "!":
            return self._step_image()
        view = self._view()
        group = self._reader(view).read(0)
        if isinstance(group, Group):
            return self._accept(group, view)
        if group is not FAIL:
            return self._take_result(group, view)
        if sign != "[":
            return self._pass_opener(sign)
        self._release_gap()
        self._is_line_head = False
        return self._step_text_bracket()

    def _step_behind_marker(self, sign: str) -> bool | None:
        if "\n" in self._gap:
            return None
        if sign == "(" and not self._gap:
            return self._step_target_behind()
        if sign not in SEPARATORS:
            return None
        view = self._view()
        start = 1
        while start < len(view.text) and view.text[start] in BLANKS:
            start += 1
        if start == len(view.text):
            return None if view.is_final or view.is_full else False
        if view.text[start] not in STARTS:
            return None
        group = self._reader(view).read(start)
        if isinstance(group, Group):
            self._gap = ""
            self._cite(group, is_range=start == 1 and sign in DASHES)
            return True
        if group is FAIL or (group is WAIT and view.is_full):
            return None
        return self._take_result(group, view)

    def _step_target_behind(self) -> bool | None:
        """Read ``(`` behind a marker: more markers in brackets, else a target."""
        if self._is_refused(self._base + self._at):
            return None
        view = self._view()
        group = self._reader(view).read(0)
        if group is WAIT and not view.is_full:
            return False
        if group not in (FAIL, WAIT):
            return None
        self._start_target(0)
        return True

    def _take_result(self, result: TargetAt | Status, view: View) -> bool:
        if isinstance(result, TargetAt):
            self._start_target(result.position)
            return True
        if result is CUT:
            self._gap = ""
            self._at = len(self._text)
            return True
        return self._hold(view)

    def _hold(self, view: View) -> bool:
        """Wait for more; at the bound, release from the left: blanks, wrapper, bracket."""
        if not view.is_full:
            return False
        if self._gap:
            self._release_gap()
        elif view.text[0] == "[":
            self._open_text_bracket()
        else:
            return self._pass_opener(view.text[0])
        return True

    def _accept(self, group: Group, view: View) -> bool:
        """Cite, unless what stands around the marker makes it something else."""
        literal = self._is_literal(group, view)
        if literal is WAIT:
            if not view.is_full:
                return False
            literal = "subscript"
        if literal == "address":
            self._span = Url()
            return True
        if literal:
            self._put(view.text[: group.end], last=str(literal))
            return True
        if self._is_line_head:
            done = self._read_line_head(view)
            if done is not None:
                return done
        self._close_gap()
        self._cite(group)
        return True

    def _is_literal(self, group: Group, view: View) -> str | Status:
        """Return what is written in place of a marker (M11); empty: it is one."""
        text, bracket, recent = view.text, group.bracket, self._writer.recent
        if not self._gap:
            if self._writer.last == "subscript" and text[0] == "[":
                return "subscript"
            if text[0] == "[" and is_in_address(recent):
                return "address"
            if text[0] in "(（" and is_identifier(name_before(recent)):
                return "text"
        if bracket is None or not bracket.is_bare:
            return ""
        name = "" if self._gap else name_before(recent)
        if name:
            if is_identifier(name):
                return "subscript"
            is_code = is_used_as_code(text[group.end :], is_final=view.is_final)
            if isinstance(is_code, Status):
                return is_code
            if is_code:
                return "subscript"
        return "text" if is_interval(bracket, recent + self._gap) else ""

    def _close_gap(self) -> None:
        """Drop one blank before a marker, all of them between two (M5, M9)."""
        last = self._writer.last
        if last in ("sign", "start") or "\n" in self._gap:
            self._release_gap()
        elif last == "marker":
            self._gap = ""
        else:
            keep = self._gap if self._writer.recent.endswith("\\") else self._gap[:-1]
            self._gap = ""
            self._writer.text(keep)

    def _cite(self, group: Group, *, is_range: bool = False) -> None:
        writer = self._writer
        if writer.last == "marker":
            after, count = writer.last_number, self.source_count
            add_range(group, after=after, is_range=is_range, source_count=count)
        self.invalid_citations += group.invalid
        writer.cite(group.numbers)
        writer.last_number = group.last
        self._at += group.end
        self._is_line_head = False

    # Lines

    def _read_line_head(self, view: View) -> bool | None:
        """Read a definition, or a line of markers only; ``None``: it is neither."""
        definition = _DEFINITION.match(view.text)
        if definition and (len(definition[1]) < 3 or int(definition[1]) <= self.source_count):
            self._start_drop(Drop(is_tail=False))
            return True
        if _MAYBE_DEFINITION.match(view.text) and not view.is_final:
            return self._hold(view)
        can_join = "\n" in self._gap and self._blocks.can_be_joined
        if not can_join or self._writer.last in ("display", "start"):
            return None
        groups = self._reader(view).read_line()
        if isinstance(groups, TargetAt) or groups is WAIT:
            return self._take_result(groups, view)
        if isinstance(groups, Status):
            return None
        self._gap = ""
        start, end = self._at, 0
        for group in groups:
            is_range = 0 < end < group.end and view.text[end] in DASHES
            self._at, end = start, group.end
            self._cite(group, is_range=is_range)
        return True

    def _start_line(self) -> bool | None:
        sign = self._text[self._at]
        is_candidate = sign in "#*_" or sign.casefold()[:1] in FIRST_LETTERS
        if is_candidate and self._blocks.is_at_margin(self._lead):
            text = self._text[self._at : self._at + MAX_LOOK + 2]
            start = find_tail(text, is_final=self._is_final, titles=self.titles)
            if start is None:
                return None
            if start:
                self._at += start
                self._start_tail()
                return False
        return super()._start_line()

    def _start_tail(self) -> None:
        line = self._text[self._at : self._at + MAX_LOOK].partition("\n")[0]
        has_sign = starts_item(line, is_final=True, titles=self.titles, is_first=False)
        self._start_drop(Drop(is_tail=True, titles=self.titles, is_plain=not has_sign))

    def _start_drop(self, drop: Drop) -> None:
        self._drop = drop
        self._gap_before_drop, self._gap = self._gap, ""

    def _step_drop(self, drop: Drop) -> bool:
        self._at, is_over = drop.take(self._text, self._at, is_final=self._is_final)
        if not is_over:
            return is_over is False
        self._drop = None
        # Of the breaks before and behind what was dropped the longer ones stay.
        before = self._gap_before_drop.rpartition("\n")
        breaks, line_break, self._lead = drop.behind.rpartition("\n")
        if before[0].count("\n") > breaks.count("\n"):
            breaks, line_break = before[0], before[1]
        self._gap = (breaks + line_break)[-6:]
        self._blocks.leave(is_blank=self._gap.count("\n") > 1)
        self._gap += self._lead[:2]
        self._emphasis.reset()
        self._is_line_start, self._is_line_head = True, False
        return True
