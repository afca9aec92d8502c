"""Make a model's text storable while it streams.

In: pieces of text. Out: the same text without NUL, its surrogate halves joined, lone ones
replaced: neither PostgreSQL nor UTF-8 takes them, and JSON deltas may cut an emoji in two.
Holds back one character, a first surrogate half. No Django, no I/O: feed it strings.
"""

from __future__ import annotations

import re
from typing import Any

_HALVES = re.compile("[\ud800-\udfff]")
_FIRST_HALF = re.compile("[\ud800-\udbff]")


class CleanText:
    """One stream of text; ``feed`` piece by piece, then ``flush`` once."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """Return what of ``text`` is settled; may be empty."""
        text = self._held + text
        self._held = ""
        if "\0" in text:
            text = text.replace("\0", "")
        if text.isascii() or not _HALVES.search(text):
            return text
        if _FIRST_HALF.match(text[-1]):
            text, self._held = text[:-1], text[-1]
        return _join_halves(text)

    def flush(self) -> str:
        """Return what was held back."""
        text, self._held = self._held, ""
        return _join_halves(text)


def _join_halves(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def text_of(content: Any) -> str:
    """Return the visible text of a message's content: a string, or a list of blocks.

    Only text blocks count; reasoning and tool calls are nobody's answer.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join(
        block if isinstance(block, str) else block.get("text") or ""
        for block in content
        if isinstance(block, str) or (isinstance(block, dict) and block.get("type") == "text")
    )
