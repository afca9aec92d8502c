"""Decide whether the round bracket behind ``]`` is the target of a link.

In: its characters one by one, from ``(`` on. Out: whether it ends here, or is none.
Holds nothing. No Django and no I/O.
"""

from __future__ import annotations


class Target:
    """Decides whether ``(…)`` behind ``]`` is a link's target, character by character."""

    def __init__(self) -> None:
        self._depth = 0
        self._angle = False
        self._title = ""
        self._has_title = False
        self._is_behind_blank = False
        self._is_escaped = False
        self._has_address = False

    def feed(self, sign: str) -> bool | None:
        """Return whether the target ends here, or ``None`` if it is no target at all."""
        if self._is_escaped:
            self._is_escaped = False
        elif sign == "\n":
            return None
        elif sign == "\\":
            self._is_escaped = True
        elif self._title:
            if sign == self._title:
                self._title, self._has_title = "", True
        elif self._angle:
            self._angle = sign != ">"
        elif sign.isspace():
            self._is_behind_blank = self._has_address
        elif self._is_behind_blank and sign != ")":
            if self._has_title or sign not in "\"'(":
                return None
            self._title = ")" if sign == "(" else sign
            self._is_behind_blank = False
        elif sign == ")":
            self._depth -= 1
            return not self._depth
        elif self._has_title:
            return None
        elif sign == "<" and self._depth == 1 and not self._has_address:
            self._angle = self._has_address = True
        else:
            self._depth += sign == "("
            self._has_address = self._has_address or self._depth > 1 or sign != "("
        return False
