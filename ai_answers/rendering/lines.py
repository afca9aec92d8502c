"""Cut a stream of text into lines whose meaning can no longer change.

In: pieces of text, cut anywhere. Out: ``(kind, text)`` in order: ``START`` opens a line,
``MORE`` adds to it, ``END`` closes it. A line is started only when nothing that may still
arrive on it can make it another kind of block: ``- `` may become a rule or an item, three
backticks a fence or a code span. Held back: a line's leading signs and digits, the first line
of a fence, a lone carriage return and half a surrogate pair.
No Django and no I/O: feed it pieces and join what comes.
"""

from __future__ import annotations

import re

from .sanitise import clean_text

START, MORE, END = "start", "more", "end"

# All that may stand before a block's own text, or make up a whole line that is no text.
_SIGNS = r"[ \t>\-+*_=~`#|:.)0-9]"
_UNDECIDED = re.compile(_SIGNS + "*")
_FENCE_SIGN = re.compile(r"[ \t>\-+*.)0-9]*(`{3,}|~{3,})")


class LineCutter:
    """Cuts text into line events; see the module."""

    def __init__(self) -> None:
        self._loose = ""
        self._held = ""
        self._waits_for: str | None = None
        self._is_started = False

    def feed(self, text: str) -> list[tuple[str, str]]:
        """Take the next piece, return what is decided by it."""
        text = self._loose + text
        self._loose = ""
        if text and (text[-1] == "\r" or "\ud800" <= text[-1] <= "\udbff"):
            self._loose, text = text[-1], text[:-1]
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        first, *others = clean_text(text).split("\n")
        events: list[tuple[str, str]] = []
        self._add(first, events)
        for line in others:
            self._end(events)
            self._add(line, events)
        return events

    def flush(self) -> list[tuple[str, str]]:
        """End the last line, if one is open."""
        loose, self._loose = self._loose, ""
        events = self.feed(loose + "\n") if loose else []
        if self._is_started or self._held:
            self._end(events)
        return events

    def _add(self, text: str, events: list[tuple[str, str]]) -> None:
        if not text:
            return
        if self._is_started:
            events.append((MORE, text))
            return
        if self._waits_for is None:
            # What is held is all signs, so only the new piece needs a look.
            is_undecided = _UNDECIDED.fullmatch(text) is not None
            self._held += text
            if is_undecided:
                return
            fence = _FENCE_SIGN.match(self._held)
            # No info string of a backtick fence holds a backtick; a tilde fence takes any.
            self._waits_for = "" if fence is None else "`" if fence[1][0] == "`" else "\n"
            text = self._held[fence.end() :] if fence else ""
        else:
            self._held += text
        if not self._waits_for or self._waits_for in text:
            events.append((START, self._held))
            self._held = ""
            self._is_started = True

    def _end(self, events: list[tuple[str, str]]) -> None:
        if not self._is_started:
            events.append((START, self._held))
        events.append((END, ""))
        self._held = ""
        self._waits_for = None
        self._is_started = False
