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
from .groups import SEPARATORS, STARTS, Group, GroupReader, TargetAt, add_range
from .markers import BLANKS, CUT, DASHES, FAIL, MAX_TAIL, WAIT, Status
from .names import is_identifier, is_in_address, is_interval, is_used_as_code, name_before
from .scanner import MAX_HELD, Scanner
from .spans import Target, Url
from .tails import FIRST_LETTERS, MAX_LOOK, Drop, Titles, find_tail, starts_item

MAX_TARGET = 2048
MAX_TRIES = 4

_DEFINITION = re.compile(r"\[\^?(\d{1,30})\][:：]")
_MAYBE_DEFINITION = re.compile(r"\[\^?\d{1,30}\]\Z")
_TEXT_BRACKET = re.compile(r"\[((?:[^\[\]\n`\\]|\\[^\n]|`[^`\n]*`)*)\]")
_OPEN_BRACKET = re.compile(r"\[(?:[^\[\]\n`\\]|\\[^\n]|`[^`\n]*`)*(?:`[^`\n]*|\\)?\Z")
_NUMBERS = re.compile(r"[\d\s,;:.+–-]*")
_HALF_OPEN = re.compile(r"\[\s*[-+]?[\d.]+\s*[,;]\s*[-+]?[\d.∞]+\s*\)")


class CitationResolver(Scanner):
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
        self._target: Target | None = None
        self._target_start = self._target_next = 0
        self._is_image = False
        self._refused: set[int] = set()
        self._failed_until = self._failures = 0

    def feed(self, text: str) -> list[TextDelta | SourceCited]:
        """Take the next piece; return what is decided by it."""
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

    def _step(self, is_final: bool) -> bool:  # noqa: FBT001
        if self._drop is not None:
            return self._step_drop(self._drop, is_final)
        if self._target is not None:
            return self._step_target(self._target, is_final)
        return super()._step(is_final)

    # Markers

    def _step_opener(self, sign: str, is_final: bool) -> bool:  # noqa: FBT001
        text, is_final, is_full = self._view(is_final)
        if sign == "!":
            return self._step_image(text, is_final, is_full)
        group = self._reader(text, is_final).read(0)
        if isinstance(group, Group):
            return self._accept(group, text, is_final, is_full)
        if group is FAIL:
            return self._refuse(sign, is_final)
        return self._take_result(group, is_full)

    def _step_behind_marker(self, sign: str, is_final: bool) -> bool | None:  # noqa: FBT001
        if "\n" in self._gap:
            return None
        if sign == "(" and not self._gap:
            return self._step_behind_marker_target(is_final)
        if sign not in SEPARATORS:
            return None
        text, is_final, is_full = self._view(is_final)
        start = 1
        while start < len(text) and text[start] in BLANKS:
            start += 1
        if start == len(text):
            if is_final:
                return None
            return self._hold(is_full) if not is_full else None
        if text[start] not in STARTS:
            return None
        group = self._reader(text, is_final).read(start)
        if isinstance(group, Group):
            self._gap = ""
            is_range = start == 1 and sign in DASHES
            self._cite(group, is_range=is_range)
            return True
        if group is FAIL or (group is WAIT and is_full):
            return None
        return self._take_result(group, is_full)

    def _step_behind_marker_target(self, is_final: bool) -> bool | None:  # noqa: FBT001
        if self._is_refused(self._base + self._at):
            return None
        text, is_final, is_full = self._view(is_final)
        group = self._reader(text, is_final).read(0)
        if group is WAIT and not is_full:
            return False
        if group in (FAIL, WAIT):
            self._start_target(0)
            return True
        return None

    def _view(self, is_final: bool) -> tuple[str, bool, bool]:  # noqa: FBT001
        """Return the text that may be looked at, whether it is all, and whether it is full."""
        limit = MAX_HELD + 1 - len(self._gap)
        text = self._text[self._at : self._at + limit]
        if "†" in text:
            limit += MAX_TAIL
            text = self._text[self._at : self._at + limit]
        left = len(self._text) - self._at
        return text, is_final and left <= limit, left >= limit

    def _reader(self, text: str, is_final: bool) -> GroupReader:  # noqa: FBT001
        start = self._base + self._at
        return GroupReader(
            text,
            is_final=is_final,
            source_count=self.source_count,
            is_refused=lambda position: self._is_refused(start + position),
        )

    def _take_result(self, result: TargetAt | Status, is_full: bool) -> bool:  # noqa: FBT001
        if isinstance(result, TargetAt):
            self._start_target(result.position)
            return True
        if result is CUT:
            self._gap = ""
            self._at = len(self._text)
            return True
        return self._hold(is_full)

    def _hold(self, is_full: bool) -> bool:  # noqa: FBT001
        """Wait for more; at the bound, release from the left: blanks, wrapper, bracket."""
        if not is_full:
            return False
        if self._gap:
            self._release_gap()
            return True
        sign = self._text[self._at]
        if sign == "[":
            self._open_text_bracket()
            return True
        return self._pass_opener(sign, is_final=True)

    def _accept(
        self,
        group: Group,
        text: str,
        is_final: bool,
        is_full: bool,  # noqa: FBT001
    ) -> bool:
        """Cite, unless what stands around the marker makes it something else."""
        literal = self._is_literal(group, text, is_final)
        if literal is WAIT:
            if not is_full:
                return False
            literal = "subscript"
        if literal == "address":
            self._span = Url()
            return True
        if literal:
            self._put(text[: group.end], last=str(literal))
            return True
        if self._is_line_head:
            done = self._read_line_head(text, is_final, is_full)
            if done is not None:
                return done
        self._close_gap()
        self._cite(group)
        return True

    def _is_literal(self, group: Group, text: str, is_final: bool) -> str | Status:  # noqa: FBT001
        """Return what is written in place of a marker (M11); empty: it is one."""
        recent, bracket = self._writer.recent, group.bracket
        if not self._gap:
            if self._writer.last == "subscript" and text[0] == "[":
                return "subscript"
            if text[0] == "[" and is_in_address(recent):
                return "address"
        if text[0] in "(（" and not self._gap and is_identifier(name_before(recent)):
            return "text"
        if bracket is None or not bracket.is_bare:
            return ""
        name = "" if self._gap else name_before(recent)
        if name:
            if is_identifier(name):
                return "subscript"
            is_code = is_used_as_code(text[group.end :], is_final=is_final)
            if isinstance(is_code, Status):
                return is_code
            if is_code:
                return "subscript"
        return "text" if is_interval(bracket, recent + self._gap) else ""

    def _read_line_head(
        self,
        text: str,
        is_final: bool,
        is_full: bool,  # noqa: FBT001
    ) -> bool | None:
        """Read a definition, or a line of markers only; ``None``: it is neither."""
        definition = _DEFINITION.match(text)
        if definition and (len(definition[1]) < 3 or int(definition[1]) <= self.source_count):
            self._start_drop(Drop(is_tail=False))
            return True
        if _MAYBE_DEFINITION.match(text) and not is_final:
            return self._hold(is_full)
        can_join = "\n" in self._gap and self._blocks.can_be_joined
        if not can_join or self._writer.last in ("display", "start"):
            return None
        groups = self._reader(text, is_final).read_line()
        if isinstance(groups, TargetAt) or groups is WAIT:
            return self._take_result(groups, is_full)
        if isinstance(groups, Status):
            return None
        self._gap = ""
        start = self._at
        for place, group in enumerate(groups):
            between = text[groups[place - 1].end : group.end].lstrip(BLANKS) if place else ""
            is_range = bool(between) and text[groups[place - 1].end] in DASHES
            self._at = start
            self._cite(group, is_range=is_range)
        return True

    def _close_gap(self) -> None:
        """Drop one blank before a marker, all of them between two (M5, M9)."""
        last = self._writer.last
        if last == "sign" or "\n" in self._gap or last == "start":
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
            add_range(
                group,
                after=writer.last_number,
                is_range=is_range,
                source_count=self.source_count,
            )
        self.invalid_citations += group.invalid
        writer.cite(group.numbers)
        writer.last_number = group.last
        self._at += group.end
        self._is_line_head = False

    # What looks like a marker and is none

    def _refuse(self, sign: str, is_final: bool) -> bool:  # noqa: FBT001
        if sign != "[":
            return self._pass_opener(sign, is_final)
        self._release_gap()
        self._is_line_head = False
        return self._step_text_bracket(is_final)

    def _step_text_bracket(self, is_final: bool) -> bool:  # noqa: FBT001
        """Read ``[text]``: before ``[n]`` the brackets go, before ``(…)`` it is a link (M7)."""
        text, is_final, is_full = self._view(is_final)
        found = _TEXT_BRACKET.match(text)
        if found is None:
            half_open = _HALF_OPEN.match(text)
            if half_open:
                self._put(half_open[0])
                return True
            if not is_final and not is_full and _OPEN_BRACKET.match(text):
                return False
            self._open_text_bracket()
            return True
        writer = self._writer
        name = name_before(writer.recent)
        is_subscript = is_identifier(name) or (bool(name) and found[1].strip() == "0")
        if is_subscript or writer.last == "subscript":
            self._put(found[0], last="subscript")
            return True
        behind = text[found.end() : found.end() + 1]
        if not behind and not is_final:
            if is_full:
                self._open_text_bracket()
            return is_full
        if behind == "(":
            self._put(found[0], last="bracket", is_raw=True)
            return True
        if behind and behind in "[【［" and not _NUMBERS.fullmatch(found[1]):
            group = self._reader(text, is_final).read(found.end())
            if group is WAIT:
                if is_full:
                    self._open_text_bracket()
                return is_full
            if isinstance(group, Group):
                shown = found[0] if name else found[1]
                writer.raw(shown) if "`" in shown else writer.text(shown)
                self._cite(group)
                return True
        self._put(found[0])
        return True

    def _open_text_bracket(self) -> None:
        self._put("[")
        self._writer.depth += 1

    def _step_image(self, text: str, is_final: bool, is_full: bool) -> bool:  # noqa: FBT001
        """Remove an image whose description is a marker (B10)."""
        if len(text) == 1 and not is_final:
            return False
        if text[1:2] == "[":
            group = self._reader(text, is_final).read(1)
            behind = text[group.end : group.end + 1] if isinstance(group, Group) else ""
            if (group is WAIT or (isinstance(group, Group) and not behind)) and not is_final:
                if not is_full:
                    return False
            elif isinstance(group, Group) and behind == "(":
                if not self._is_refused(self._base + self._at + group.end):
                    self._start_target(group.end)
                    self._is_image = True
                    return True
            elif group is CUT:
                self._put("!")
                self._at = len(self._text)
                return True
        self._put("!")
        return True

    # Targets behind markers

    def _is_refused(self, position: int) -> bool:
        if position in self._refused:
            return True
        return position < self._failed_until and self._failures >= MAX_TRIES

    def _start_target(self, offset: int) -> None:
        self._target = Target()
        self._is_image = False
        self._target_start = self._target_next = self._base + self._at + offset

    def _step_target(self, target: Target, is_final: bool) -> bool:  # noqa: FBT001
        start, at = self._target_start - self._base, self._target_next - self._base
        ends: bool | None = False
        while at < len(self._text):
            ends = target.feed(self._text[at])
            if ends is not False or at - start >= MAX_TARGET:
                break
            at += 1
        self._target_next = self._base + at
        if ends is False and at == len(self._text) and not is_final:
            return False
        self._target = None
        if ends or at == len(self._text):
            self._text = self._text[:start] + self._text[at + 1 :]
            if self._is_image:
                self._close_gap()
                self._writer.cite(())
                self._at = start
        else:
            is_inside = self._target_start < self._failed_until
            self._failures = self._failures + 1 if is_inside else 0
            self._failed_until = max(self._failed_until, self._target_next)
            self._refused = {place for place in self._refused if place >= self._base}
            self._refused.add(self._target_start)
        return True

    # Definitions and tails

    def _start_line(self, is_final: bool) -> bool | None:  # noqa: FBT001
        sign = self._text[self._at]
        is_candidate = sign in "#*_" or sign.casefold()[:1] in FIRST_LETTERS
        if is_candidate and self._blocks.is_at_margin(self._lead):
            text = self._text[self._at : self._at + MAX_LOOK + 2]
            start = find_tail(text, is_final=is_final, titles=self.titles)
            if start is None:
                return None
            if start:
                self._at += start
                line = self._text[self._at : self._at + MAX_LOOK].partition("\n")[0]
                is_plain = not starts_item(line, is_final=True, titles=self.titles, is_first=False)
                self._start_drop(Drop(is_tail=True, titles=self.titles, is_plain=is_plain))
                return False
        return super()._start_line(is_final)

    def _start_drop(self, drop: Drop) -> None:
        self._drop = drop
        self._gap_before_drop, self._gap = self._gap, ""

    def _step_drop(self, drop: Drop, is_final: bool) -> bool:  # noqa: FBT001
        self._at, is_over = drop.take(self._text, self._at, is_final=is_final)
        if not is_over:
            return is_over is False
        self._drop = None
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
