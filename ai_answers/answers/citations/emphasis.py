"""Know which emphasis is open, so that ``**`` that closes it is not taken for a wrapper.

In: the signs of a block, in order. No Django and no I/O.
"""

from __future__ import annotations

import re

from .markers import WAIT, Status

_RUN = re.compile(r"\*{1,3}(?!\*)|_{1,3}(?!_)|~~(?!~)")


class Emphasis:
    """The runs of ``*``, ``_`` and ``~`` that are open in one block."""

    def __init__(self) -> None:
        self._open: list[str] = []

    def reset(self) -> None:
        """A new block begins: nothing is open."""
        self._open = []

    def closing(self, text: str, *, before: str, is_final: bool) -> int | Status:
        """Return how many signs at the start of ``text`` close a run; 0: none."""
        if not self._open or not before or before.isspace():
            return 0
        run = next((run for run in reversed(self._open) if run[0] == text[0]), "")
        if not run:
            return 0
        if not text.startswith(run):
            return WAIT if run.startswith(text) and not is_final else 0
        if run[0] == "_":
            behind = text[len(run) : len(run) + 1]
            if not behind and not is_final:
                return WAIT
            if behind.isalnum():
                return 0
        del self._open[len(self._open) - 1 - self._open[::-1].index(run)]
        return len(run)

    def open(self, text: str, *, before: str) -> int:
        """Note the run at the start of ``text`` if it opens emphasis; return its length."""
        run = _RUN.match(text)
        if run is None:
            return 1
        behind = text[run.end() : run.end() + 1]
        is_inside_word = run[0][0] == "_" and before.isalnum()
        if behind and not behind.isspace() and not is_inside_word and len(self._open) < 20:
            self._open.append(run[0])
        return run.end()
