"""Make text of models and tools storable, the model's while it streams.

In: pieces of text, or whole values. Out: the same without NUL, surrogate halves joined, lone ones
replaced: neither PostgreSQL nor UTF-8 takes them, and JSON deltas may cut an emoji in two. Whole
values lose other control characters, too.
Holds back one character, a first surrogate half. No Django, no I/O: feed it strings.
"""

from __future__ import annotations

import math
import re
from typing import Any

_HALVES = re.compile("[\ud800-\udfff]")
_FIRST_HALF = re.compile("[\ud800-\udbff]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_OTHER_LINE_ENDS = re.compile("[\x0b\x0c\x85]")

DEEPEST = 32
"""Levels of lists and objects a value may have."""


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


def clean_text(text: str) -> str:
    """Return a whole ``text`` without lone surrogates and control characters."""
    text = _OTHER_LINE_ENDS.sub("\n", _CONTROL.sub("", text))
    return _join_halves(text) if _HALVES.search(text) else text


def clean_value(value: Any, *, depth: int = DEEPEST) -> Any:
    """Return a JSON value with all text in it clean, keys included; no number is infinite.

    Raises ``ValueError`` where it is nested deeper than ``depth``.
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        raise ValueError(f"A value may have {DEEPEST} levels at most.")
    if isinstance(value, list):
        return [clean_value(item, depth=depth - 1) for item in value]
    return {clean_text(str(key)): clean_value(item, depth=depth - 1) for key, item in value.items()}


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
