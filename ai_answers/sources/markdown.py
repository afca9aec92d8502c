"""A Markdown file as a page: title and visible text.

In: the file's text. Out: ``(title, text)``; front matter, comments, scripts and styles are left
out, code stays as it is. No Django, no I/O.
"""

from __future__ import annotations

import re

FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
FRONT_TITLE = re.compile(r"^title[ \t]*:[ \t]*(.+?)[ \t]*$", re.M)
FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")
HEADING = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
UNDERLINE = re.compile(r"[ ]{0,3}(=+|-+)[ \t]*$")
UNSEEN = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)", re.S | re.I)


def markdown_page(text: str) -> tuple[str, str]:
    """Return title (front matter's, else the first heading's, else ``""``) and text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    title = ""
    if front := FRONT_MATTER.match(text):
        if named := FRONT_TITLE.search(front[1]):
            title = named[1].strip("\"'")
        text = text[front.end() :]
    text = without_unseen(text)
    return title or first_heading(text), text


def without_unseen(text: str) -> str:
    """Drop comments, scripts and styles outside fenced code."""
    pieces, prose = [], []
    for line, in_code in fenced_lines(text):
        if in_code:
            pieces += [UNSEEN.sub("", "".join(prose)), line]
            prose = []
        else:
            prose.append(line)
    return "".join([*pieces, UNSEEN.sub("", "".join(prose))])


def fenced_lines(text: str):
    """Yield each line, with its end, and whether it belongs to fenced code."""
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = FENCE.match(line)
        if not fence:
            fence = mark[1] if mark else ""
            yield line, bool(fence)
        else:
            yield line, True
            closes = mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence)
            if closes and not line[mark.end() :].strip():
                fence = ""


def first_heading(text: str) -> str:
    before = ""
    for line, in_code in fenced_lines(text):
        if in_code:
            before = ""
        elif found := HEADING.match(line.rstrip("\n")):
            return found[2]
        elif before and UNDERLINE.match(line.rstrip("\n")):
            return before
        else:
            before = line.strip()
    return ""
