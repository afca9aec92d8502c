"""Read brackets that are no markers: link text, images, and targets behind a marker (M7).

In: what ``resolver`` found to be no marker, or the ``(`` behind one. Holds a link's text of up
to ``MAX_HELD`` characters, and a target of up to ``MAX_TARGET``. No Django and no I/O.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .groups import Group, GroupReader
from .markers import CUT, FAIL, MAX_TAIL, WAIT
from .names import is_identifier, name_before
from .scanner import MAX_HELD, Scanner
from .targets import Target

MAX_TARGET = 2048
MAX_TRIES = 4
"""Targets tried again inside one that failed: trying costs its length each time."""

_TEXT_BRACKET = re.compile(r"\[((?:[^\[\]\n`\\]|\\[^\n]|`[^`\n]*`)*)\]")
_OPEN_BRACKET = re.compile(r"\[(?:[^\[\]\n`\\]|\\[^\n]|`[^`\n]*`)*(?:`[^`\n]*|\\)?\Z")
_NUMBERS = re.compile(r"[\d\s,;:.+–-]*")
_HALF_OPEN = re.compile(r"\[\s*[-+]?[\d.]+\s*[,;]\s*[-+]?[\d.∞]+\s*\)")


class View(NamedTuple):
    """The text that a decision may look at."""

    text: str
    is_final: bool
    """Nothing follows it."""
    is_full: bool
    """It is as much as may be held, and one more."""


class LinkReader(Scanner):
    """A scanner that knows links and images."""

    source_count = 0

    def _start_over(self) -> None:
        super()._start_over()
        self._target: Target | None = None
        self._target_start = self._target_next = 0  # Counted from the start of all text.
        self._is_image = False
        self._refused: set[int] = set()
        self._failed_until = self._failures = 0

    def _step(self) -> bool:
        if self._target is not None:
            return self._step_target(self._target)
        return super()._step()

    def _is_in_text(self) -> bool:
        return self._target is None and super()._is_in_text()

    def _close_gap(self) -> None:
        raise NotImplementedError

    def _cite(self, group: Group, *, is_range: bool = False) -> None:
        raise NotImplementedError

    def _view(self) -> View:
        limit = MAX_HELD + 1 - len(self._gap)
        text = self._text[self._at : self._at + limit]
        if "†" in text:
            limit += MAX_TAIL
            text = self._text[self._at : self._at + limit]
        left = len(self._text) - self._at
        return View(text, self._is_final and left <= limit, left >= limit)

    def _reader(self, view: View) -> GroupReader:
        start = self._base + self._at
        return GroupReader(
            view.text,
            is_final=view.is_final,
            source_count=self.source_count,
            is_refused=lambda position: self._is_refused(start + position),
        )

    # Text in brackets

    def _step_text_bracket(self) -> bool:
        """Read ``[text]``: before ``[n]`` the brackets go, before ``(…)`` it is a link."""
        view, writer = self._view(), self._writer
        found = _TEXT_BRACKET.match(view.text)
        if found is None:
            return self._step_open_bracket(view)
        name = name_before(writer.recent)
        is_subscript = is_identifier(name) or (bool(name) and found[1].strip() == "0")
        if is_subscript or writer.last == "subscript":
            self._put(found[0], last="subscript")
            return True
        behind = view.text[found.end() : found.end() + 1]
        if not behind and not view.is_final:
            return self._wait_for_bracket(view)
        if behind == "(":
            self._put(found[0], last="bracket", is_raw=True)
            return True
        if behind and behind in "[【［" and not _NUMBERS.fullmatch(found[1]):
            group = self._reader(view).read(found.end())
            if group is WAIT:
                return self._wait_for_bracket(view)
            if isinstance(group, Group):
                shown = found[0] if name else found[1]
                if "`" in shown:
                    writer.raw(shown)
                else:
                    writer.text(shown)
                self._cite(group)
                return True
        self._put(found[0])
        return True

    def _step_open_bracket(self, view: View) -> bool:
        half_open = _HALF_OPEN.match(view.text)
        if half_open:
            self._put(half_open[0])
            return True
        if not view.is_final and not view.is_full and _OPEN_BRACKET.match(view.text):
            return False
        self._open_text_bracket()
        return True

    def _wait_for_bracket(self, view: View) -> bool:
        if view.is_full:
            self._open_text_bracket()
        return view.is_full

    def _open_text_bracket(self) -> None:
        """Let ``[`` through: what is cited from here on waits for its ``]``."""
        self._put("[")
        self._writer.depth += 1

    def _step_image(self) -> bool:
        """Remove an image whose description is a marker (B10)."""
        view = self._view()
        if len(view.text) == 1 and not view.is_final:
            return False
        group = self._reader(view).read(1) if view.text[1:2] == "[" else None
        behind = view.text[group.end : group.end + 1] if isinstance(group, Group) else ""
        if behind == "(" and isinstance(group, Group):
            if not self._is_refused(self._base + self._at + group.end):
                self._start_target(group.end, is_image=True)
                return True
        elif not (behind or view.is_final or view.is_full or group in (None, FAIL)):
            return False
        self._put("!")
        if group is CUT:
            self._at = len(self._text)
        return True

    # Targets behind markers

    def _is_refused(self, position: int) -> bool:
        if position in self._refused:
            return True
        return position < self._failed_until and self._failures >= MAX_TRIES

    def _start_target(self, offset: int, *, is_image: bool = False) -> None:
        self._target = Target()
        self._is_image = is_image
        self._target_start = self._target_next = self._base + self._at + offset

    def _step_target(self, target: Target) -> bool:
        start, at = self._target_start - self._base, self._target_next - self._base
        ends: bool | None = False
        while at < len(self._text):
            ends = target.feed(self._text[at])
            if ends is not False or at - start >= MAX_TARGET:
                break
            at += 1
        self._target_next = self._base + at
        if ends is False and at == len(self._text) and not self._is_final:
            return False
        self._target = None
        if ends or at == len(self._text):
            self._take_out(start, at + 1)
        else:
            self._refuse_target()
        return True

    def _take_out(self, start: int, end: int) -> None:
        """Drop a target, and the image it belongs to."""
        self._text = self._text[:start] + self._text[end:]
        if self._is_image:
            self._close_gap()
            self._writer.cite(())
            self._at = start

    def _refuse_target(self) -> None:
        is_inside = self._target_start < self._failed_until
        self._failures = self._failures + 1 if is_inside else 0
        self._failed_until = max(self._failed_until, self._target_next)
        self._refused = {place for place in self._refused if place >= self._base}
        self._refused.add(self._target_start)
