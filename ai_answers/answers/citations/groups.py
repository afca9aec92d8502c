"""Read a marker with the wrappers that exist only around it (M6): ``**[2]**``, ``([2], [4])``.

In: text and a position. Out: a ``Group``, or a ``Status`` as in ``markers``, or ``TargetAt``:
a ``(…)`` begins there that must be taken out before the rest can be read.
No Django and no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .markers import (
    BEHIND_WORD,
    BLANKS,
    CLOSERS,
    CUT,
    DASHES,
    FAIL,
    WAIT,
    WORD,
    Bracket,
    BracketReader,
    Status,
    expand,
    resolve,
)
from .words import SOURCE_BEGINNINGS, SOURCE_WORDS

SEPARATORS = ",，、" + DASHES
"""What disappears between two markers, beside blanks (M5)."""
STARTS = "[【［(（*_~^<\\"
MAX_DEPTH = 4
"""Wrappers around wrappers; deeper ones are no wrappers."""

_BETWEEN = re.compile(f"[{BLANKS}]*[{re.escape(SEPARATORS)}]?[{BLANKS}]*")
_BETWEEN_IN_PARENTHESES = re.compile(f"[{BLANKS}]*[{re.escape(SEPARATORS)};；]?[{BLANKS}]*")
_BLANKS = re.compile(f"[{BLANKS}]*")
_RUN = re.compile(r"\*{1,3}(?!\*)|_{1,3}(?!_)|~~(?!~)|\^")
_TAGS = ("strong", "small", "span", "cite", "mark", "sup", "sub", "em", "ins", "b", "i", "u", "a")
_TAG = re.compile(rf"<({'|'.join(_TAGS)})(?:\s[^<>\n]*)?>", re.IGNORECASE)
_OPEN_TAG = re.compile(r"<([a-z]*)(\s[^<>\n]*)?\Z", re.IGNORECASE)


@dataclass(slots=True)
class Group:
    """Markers that belong together, looked up."""

    end: int
    numbers: list[int] = field(default_factory=list)
    invalid: int = 0
    first: int = 0
    """The first number as written, also when no source bears it."""
    last: int = 0
    bracket: Bracket | None = None
    """Set when it is one bracket without wrapper."""


@dataclass(slots=True)
class TargetAt:
    """A ``(`` directly behind a marker, at this position."""

    position: int


Result = Group | TargetAt | Status


class GroupReader:
    """Reads the group at one position of ``text``."""

    def __init__(
        self,
        text: str,
        *,
        is_final: bool,
        source_count: int,
        is_refused: Callable[[int], bool] = lambda position: False,
    ) -> None:
        self.text = text
        self.is_final = is_final
        self._source_count = source_count
        self._is_refused = is_refused
        self._brackets = BracketReader(text, is_final=is_final)

    def read(self, at: int, *, depth: int = 0) -> Result:
        """Read what begins at ``at``; a target behind an unwrapped marker is left alone."""
        text = self.text
        if at >= len(text):
            return self._short()
        sign = text[at]
        if depth > MAX_DEPTH:
            return FAIL
        if sign in CLOSERS or sign == "\\":
            group = self._read_bracket(at)
            if group is not FAIL:
                return group
            if sign == "\\":
                return (
                    self._read_wrapped(at, 2, "\\]", depth)
                    if text[at + 1 : at + 2] == "["
                    else FAIL
                )
            return self._read_wrapped(at, 1, CLOSERS[sign], depth)
        if sign in "(（":
            group = self._read_worded(at)
            return self._read_wrapped(at, 1, ")）", depth) if group is FAIL else group
        if sign == "<":
            return self._read_tag(at, depth)
        if sign in "*_~^":
            return self._read_run(at, depth)
        return FAIL

    def read_line(self) -> list[Group] | TargetAt | Status:
        """Read the whole line: groups if it holds nothing but markers (M9), else ``FAIL``."""
        groups: list[Group] = []
        at, text = 0, self.text
        while True:
            group = self.read_with_target(at, depth=0)
            if group is CUT and groups:
                return groups
            if not isinstance(group, Group):
                return group
            groups.append(group)
            at = _BLANKS.match(text, group.end).end()  # type: ignore[union-attr]
            if at == len(text) or text[at] == "\n":
                return groups if self.is_final or at < len(text) else WAIT
            at = _BETWEEN.match(text, group.end).end()  # type: ignore[union-attr]
            if at == len(text) and not self.is_final:
                return WAIT

    def read_with_target(self, at: int, *, depth: int) -> Result:
        """As ``read``, but a target behind the marker is pointed at."""
        group = self.read(at, depth=depth)
        if isinstance(group, Group) and self.text[group.end : group.end + 1] == "(":
            if self._is_refused(group.end):
                return group
            wrapped = self.read(group.end, depth=depth + 1)
            if wrapped is FAIL:
                return TargetAt(group.end)
            return WAIT if wrapped is WAIT else group
        return group

    def _read_bracket(self, at: int) -> Group | Status:
        bracket = self._brackets.read(at)
        return bracket if isinstance(bracket, Status) else self._look_up(bracket, bare=True)

    def _read_worded(self, at: int) -> Group | Status:
        """Read ``(Source 2)``: round brackets need the word."""
        bracket = Bracket(is_bare=False)
        first = _BLANKS.match(self.text, at + 1).end()  # type: ignore[union-attr]
        if first == len(self.text):
            return self._short()
        if not self.text[first].isalpha():
            return FAIL
        for closer in ")）":
            found = self._brackets.read_list(first, closer, bracket=bracket)
            if found is not FAIL:
                break
            bracket = Bracket(is_bare=False)
        return found if isinstance(found, Status) else self._look_up(found, bare=False)

    def _look_up(self, bracket: Bracket, *, bare: bool) -> Group | Status:
        resolved = resolve(bracket, source_count=self._source_count)
        if resolved is None:
            return FAIL
        first, last = (int(bracket.items[0][0]), int(bracket.items[-1][1]))
        return Group(
            bracket.end, resolved.numbers, resolved.invalid, first, last, bracket if bare else None
        )

    def _read_run(self, at: int, depth: int) -> Result:
        run = _RUN.match(self.text, at)
        if run is None:
            rest = self.text[at:]
            return self._short() if rest == "~" else FAIL
        if run.end() == len(self.text):
            return self._short()
        if run[0] == "^":
            return self._read_note(run.end(), depth)
        return self._read_wrapped(at, run.end() - at, run[0], depth)

    def _read_note(self, at: int, depth: int) -> Result:
        """Read what stands behind ``^``: Pandoc's inline note has no second one."""
        group = self.read_with_target(at, depth=depth + 1)
        if isinstance(group, Group):
            if group.end == len(self.text) and not self.is_final:
                return WAIT
            group.end += self.text[group.end : group.end + 1] == "^"
            group.bracket = None
        return group

    def _read_tag(self, at: int, depth: int) -> Result:
        tag = _TAG.match(self.text, at)
        if tag:
            return self._read_wrapped(at, tag.end() - at, f"</{tag[1].lower()}>", depth)
        open_tag = _OPEN_TAG.match(self.text, at)
        if open_tag is None:
            return FAIL
        name = open_tag[1].lower()
        if open_tag[2] is not None:
            return self._short() if name in _TAGS else FAIL
        return self._short() if any(tag.startswith(name) for tag in _TAGS) else FAIL

    def _read_wrapped(self, at: int, size: int, closer: str, depth: int) -> Result:
        """Read groups between an opener and ``closer``; two round ones mean either."""
        text, is_round = self.text, closer == ")）"
        between = _BETWEEN_IN_PARENTHESES if is_round else _BETWEEN
        position = at + size
        if is_round or closer in CLOSERS.values():
            position = _BLANKS.match(text, position).end()  # type: ignore[union-attr]
            position = self._skip_word(position)
            if position < 0:
                return self._short()
        if position < len(text) and text[position] not in STARTS:
            return FAIL
        whole = Group(0)
        is_range = False
        while True:
            group = self.read_with_target(position, depth=depth + 1)
            if group is CUT and whole.end:
                whole.end = len(text)
                return whole
            if not isinstance(group, Group):
                return group
            self._join(whole, group, is_range=is_range)
            position = group.end
            ends = self._closes(position, closer, is_round=is_round)
            if isinstance(ends, Status):
                return ends
            if not ends and is_round:
                blanks = _BLANKS.match(text, position).end()  # type: ignore[union-attr]
                ends = self._closes(blanks, closer, is_round=True) if blanks < len(text) else 0
            if isinstance(ends, int) and ends:
                whole.end = ends
                return whole
            end = between.match(text, position).end()  # type: ignore[union-attr]
            is_range = end == position + 1 and text[position] in DASHES
            position = end
            if position == len(text) and self.is_final:
                whole.end = position
                return whole

    def _closes(self, at: int, closer: str, *, is_round: bool) -> int | Status:
        """Return where the closer ends, 0 when there is none."""
        rest = self.text[at : at + len(closer)]
        if not rest:
            return len(self.text) if self.is_final else WAIT
        if is_round:
            return at + 1 if rest[0] in closer else 0
        if rest.lower() == closer:
            return at + len(closer)
        if at + len(rest) == len(self.text) and closer.startswith(rest.lower()):
            return len(self.text) if self.is_final else WAIT
        return 0

    def _skip_word(self, at: int) -> int:
        """Skip a word as in ``(Source: [2])``; -1 when the text ends inside it."""
        word = WORD.match(self.text, at)
        if word is None:
            return at
        folded = word[0].casefold()
        if word.end() == len(self.text):
            return -1 if folded in SOURCE_BEGINNINGS else at
        if folded not in SOURCE_WORDS:
            return at
        end = BEHIND_WORD.match(self.text, word.end()).end()  # type: ignore[union-attr]
        return -1 if end == len(self.text) else end

    def _join(self, whole: Group, group: Group, *, is_range: bool) -> None:
        add_range(group, after=whole.last, is_range=is_range, source_count=self._source_count)
        whole.numbers += group.numbers
        whole.invalid += group.invalid
        whole.first = whole.first or group.first
        whole.last = group.last
        whole.end = group.end

    def _short(self) -> Status:
        return FAIL if self.is_final else WAIT


def add_range(group: Group, *, after: int, is_range: bool, source_count: int) -> None:
    """Let a group that stands behind a dash reach back to the number ``after`` (A10)."""
    if is_range and 0 < after < group.first:
        group.numbers = expand(
            group.numbers, after=after, up_to=group.first, source_count=source_count
        )
        group.invalid = 0
