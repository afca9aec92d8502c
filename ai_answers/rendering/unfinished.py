"""Make text that still grows look as it will once it is finished.

In: the text of an open paragraph, heading or cell. Out: Markdown that closes what is open:
bold stays bold instead of showing two asterisks until its end arrives, a half-written link
shows its label, half a citation nothing. Only a guess: the text is drawn anew when it closes.
No Django and no I/O.
"""

from __future__ import annotations

import re

MAX_OPEN = 4

_TOKEN = re.compile(r"\\.|`+|\*\*|\*|__|_|~~|\[|\]", re.DOTALL)
_HALF_SIGN = re.compile(r"(?:(?<!\\)!?\[[0-9]{0,4}|&#?\w{0,8}|<\S{0,12})\Z")
_RAGGED = " \n*_~`\\"


def close_open_ends(text: str) -> str:
    """Return text in which what is open at the end is closed or left out."""
    code = _open_code(text)
    if code is not None:
        start, run = code
        inside = text[start + len(run) :].rstrip("` \n")
        return text[:start] + (f"{run}{inside}{run}" if inside else "")
    text = _without_half_link(text).rstrip(_RAGGED)
    # The longest half sign has 14 characters; the rest of the text need not be searched.
    end = _HALF_SIGN.sub("", text[-14:])
    text = (text[:-14] + end).rstrip(_RAGGED)
    return text + "".join(reversed(_open_emphasis(text)))


def _without_half_link(text: str) -> str:
    """Leave the label alone of a link that has no end yet, and nothing of such an image."""
    start, end = text.rfind("["), text.rfind("](")
    if start < end:
        target = text[end + 2 :]
        if target.count(")") > target.count("(") or not target.isprintable() or " " in target:
            return text
        label = text[start + 1 : end]
    else:
        label = text[start + 1 :]
    if start < 0 or "]" in label or "\n" in label or text[start - 1 : start] == "\\":
        return text
    if text[start - 1 : start] == "!":
        return text[: start - 1]
    return text[:start] + ("" if label.isdigit() else label)


def _open_code(text: str) -> tuple[int, str] | None:
    start, run = 0, ""
    for found in re.finditer(r"\\`|`+", text):
        if not run and found[0][0] == "`":
            start, run = found.start(), found[0]
        elif run and found[0].lstrip("\\") == run:
            run = ""
    return (start, run) if run else None


def _open_emphasis(text: str) -> list[str]:
    stack: list[str] = []
    code = ""
    for found in _TOKEN.finditer(text):
        mark = found[0]
        if mark[0] == "`":
            code = "" if code == mark else code or mark
        elif not code and mark[0] in "*_~":
            before = text[found.start() - 1 : found.start()]
            behind = text[found.end() : found.end() + 1]
            can_close = bool(before) and not before.isspace()
            can_open = bool(behind) and not behind.isspace()
            if mark[0] == "_":
                can_open = can_open and not before.isalnum()
            if can_close and stack and stack[-1] == mark:
                stack.pop()
            elif can_open and len(stack) < MAX_OPEN:
                stack.append(mark)
    return stack
