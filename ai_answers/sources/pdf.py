"""PDF to Markdown: text by page, headings from the bookmarks.

In: the bytes of a file. Out: ``Page(title, text)``; each page begins with ``{#page=3}`` and its
headings carry the same, as viewers in browsers go there. Lines that most pages repeat at their
edges are left out, words cut at line ends are joined. Without bookmarks there are no headings.
"""

from __future__ import annotations

import io
import re
from collections import Counter, defaultdict
from importlib import import_module
from typing import Any

from .html import Page

EDGE = 2
"""Lines at the top and at the bottom of a page that may be its header and footer."""
HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\n(?=[^\W\d_])(?=\w*[a-z\u00df-\u00ff])(?![A-Z])")
RULE = re.compile(r"[-=_*.·•\s]*")
MARKUP = re.compile(r"#{1,6}(?=\s)|```|~~~|\{#|<|\||>")
"""What would mean something at the start of a line of Markdown."""

Headings = dict[int, list[tuple[int, str]]]
"""Level and words of the headings on a page, by its place in the file."""


def pdf_to_markdown(data: bytes) -> Page:
    """Read a PDF. Raises ``PermissionError`` when it needs a password."""
    pypdf = import_module("pypdf")
    reader = pypdf.PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise PermissionError("needs a password")
    pages = [_lines(page.extract_text()) for page in reader.pages]
    _drop_edges(pages)
    headings = _headings(reader)
    texts = []
    for number, lines in enumerate(pages):
        anchor = f"{{#page={number + 1}}}"
        text = _page(lines, headings.get(number, []), anchor)
        if text:
            texts.append(f"{anchor}\n\n{text}")
    title = reader.metadata.title if reader.metadata else ""
    return Page(str(title or ""), "\n\n".join(texts))


def _lines(text: str) -> list[str]:
    lines = (line.strip() for line in HYPHEN.sub("", text).split("\n"))
    return [line for line in lines if not RULE.fullmatch(line)]


def _drop_edges(pages: list[list[str]]) -> None:
    """Take out lines that more than half of four or more pages have at the same edge."""
    if len(pages) < 4:
        return
    for edge in (slice(0, EDGE), slice(-EDGE, None)):
        seen = Counter(key for lines in pages for key in {_key(line) for line in lines[edge]})
        repeated = {key for key, times in seen.items() if times > len(pages) / 2}
        for lines in pages:
            kept = [line for line in lines[edge] if _key(line) not in repeated]
            lines[edge] = kept


def _key(line: str) -> str:
    return re.sub(r"\d+", "0", line)


def _headings(reader: Any) -> Headings:
    found: Headings = defaultdict(list)

    def walk(items: list[Any], level: int) -> None:
        for item in items:
            if isinstance(item, list):
                walk(item, level + 1)
                continue
            number = reader.get_destination_page_number(item)
            words = " ".join(str(item.title or "").split())
            if number is not None and number >= 0 and words:
                found[number].append((min(level, 6), words))

    walk(reader.outline, 1)
    return found


def _page(lines: list[str], headings: list[tuple[int, str]], anchor: str) -> str:
    """Write a page; a heading replaces the line that says the same, else it comes first."""
    written = [
        MARKUP.sub(r"\\\g<0>", line, count=1) if MARKUP.match(line) else line for line in lines
    ]
    folded = [_folded(line) for line in lines]
    on_top, start = [], 0
    for level, words in headings:
        heading = f"\n{'#' * level} {words} {anchor}\n"
        wanted = _folded(words)
        for place in range(start, len(lines)):
            both = folded[place] + (folded[place + 1] if place + 1 < len(lines) else "")
            if wanted and folded[place].endswith(wanted) and len(folded[place]) < len(wanted) + 8:
                written[place], start = heading, place + 1
                break
            if wanted and both.endswith(wanted) and len(both) < len(wanted) + 8:
                written[place : place + 2], start = [heading, ""], place + 2
                break
        else:
            on_top.append(heading)
    return "\n".join([*on_top, *written]).strip("\n")


def _folded(text: str) -> str:
    return re.sub(r"\W+", "", text).casefold()
