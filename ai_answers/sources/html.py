"""HTML to Markdown, as far as reading and quoting need it.

In: the HTML of a page or of a rich-text field. Out: ``Page(title, text)``; the text keeps
headings with their ids (``## Fees {#fees}``), lists, tables and code, and leaves out links'
targets, images, navigation, scripts, forms and everything a visitor does not see (``hidden``,
``aria-hidden``, ``display: none``). Where the page has a ``<main>``, only that is read. Broken
HTML never raises, and 2 MB of the worst take about a second: the parser nests as deep as a
browser and no deeper. Parsing and rendering are turbohtml's; here is what of a page counts.
Holds no state between calls; test it with strings.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import Any, NamedTuple

UNREAD = (
    "script, style, noscript, template, nav, [role=navigation i], svg, math, iframe, object, "
    "canvas, audio, video, select, button, input, textarea, dialog, rt, rp, [hidden], "
    "[aria-hidden=true i]"
)
FORM = "form:not(:has(main, article, h1, h2, h3, h4, h5, h6))"
"""A form with headings in it is a page that some frameworks wrap whole."""
LAYOUT = "table[role=presentation], table:has(table, h1, h2, h3, h4, h5, h6)"
UNSEEN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))", re.I)
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
LINKS_IN_HEADINGS = ", ".join(f"{heading} a" for heading in HEADINGS)
NESTING = "ul, ol, blockquote"
DEEPEST = 12
"""Levels of lists and quotes that are kept."""
EXTRA_LINES = (
    (re.compile(r"(?<!\n)\n{3,}+(?=#{1,6} )"), "\n\n"),
    (re.compile(r"^(#{1,6} .*)\n{3,}", re.M), r"\1\n\n"),
    (re.compile(r"(?<!\n)\n{2,}+(?=: )"), "\n"),
    (re.compile(r"(?<![ \t])[ \t]++$", re.M), ""),
)
"""Around headings, before definitions, and the blanks of hard line ends. Each begins at the first
line end or blank of a run and gives none back, or a long run would take minutes."""
LETTER = re.compile(r"\w")
SPAN = 50
"""Rows or columns that one cell may span."""


class Page(NamedTuple):
    title: str
    """Of ``<title>``, else the first ``<h1>``; empty when there is neither."""
    text: str


def html_to_markdown(html: str) -> Page:
    """Read ``html``, a whole page or a fragment."""
    if not html.strip():
        return Page("", "")
    import turbohtml  # late, as only indexing needs it

    document = turbohtml.parse(html)
    document.remove(f"{UNREAD}, {FORM}")
    for element in document.select("[style]"):
        if UNSEEN.search(element.attr("style") or ""):
            element.extract()
    # Searched in all of them: the body of a fragment may hold one, too.
    title = next((_one_line(found.text) for found in document.select("title")), "")
    first = document.select_one("h1")
    title = title or (_one_line(first.text) if first is not None else "")
    content = document.select_one("main, [role=main]") or document
    for link in content.select(LINKS_IN_HEADINGS):
        if not LETTER.search(link.text) and not (link.attr("id") or link.attr("name")):
            link.extract()  # a "¶" that leads to the heading itself
    _flatten(content)
    _simplify_tables(content)
    _mark_definitions(content)
    text = content.to_markdown(_options())
    for pattern, instead in EXTRA_LINES:
        text = pattern.sub(instead, text)
    return Page(title, text.strip("\n"))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _flatten(content: Any) -> None:
    """Take the lists and quotes out of each other where they are deeper than anyone writes.

    Each level indents every line in it once more, so a small page would become a huge text.
    """
    depths: dict[Any, int] = {}
    for element in content.select(NESTING):
        around = element.parent.closest(NESTING) if element.parent is not None else None
        depths[element] = depths.get(around, 0) + 1
    for element, depth in depths.items():
        if depth > DEEPEST:
            element.tag = "div"


def _simplify_tables(content: Any) -> None:
    """Undo what a table of Markdown cannot say: layout, captions, cells over several places."""
    layout = content.select(LAYOUT)
    for table in layout:
        table.tag = "div"
    if layout:
        for part in content.select("tbody, thead, tfoot, tr, td, th, caption"):
            if part.closest("table") is None:
                part.tag = "div"
    for caption in content.select("table > caption"):
        table = caption.parent
        caption.tag = "p"
        table.insert_before(caption.extract())
    for table in content.select("table:has([colspan], [rowspan])"):
        cells = table.select("[colspan], [rowspan]")
        spread = 0
        for cell in cells:
            spread += _clamp(cell, "colspan") * _clamp(cell, "rowspan") * (len(cell.text) + 1)
        if spread > 100_000:  # a few words that would be repeated a million times
            for cell in cells:
                cell.attrs["colspan"] = cell.attrs["rowspan"] = "1"
        rows = (
            "".join(f"<td>{escape(_one_line(text))}</td>" for text in row) for row in table.rows()
        )
        table.set_inner_html("".join(f"<tr>{row}</tr>" for row in rows))


def _mark_definitions(content: Any) -> None:
    from turbohtml import Element, Text

    for definition in content.select("dd"):
        first = next((node for node in definition.children if node.text.strip()), None)
        is_paragraph = isinstance(first, Element) and first.tag == "p"
        (first if is_paragraph else definition).insert(0, Text(": "))


def _clamp(cell: Any, name: str) -> int:
    value = cell.attr(name) or "1"
    span = min(int(value), SPAN) if value.isascii() and value.isdigit() else 1
    cell.attrs[name] = str(max(span, 1))
    return max(span, 1)


def _heading(element: Any, text: str) -> str:
    """Write a heading with the id that leads to it, on itself, in it or around it."""
    anchors = [element.attr("id")]
    for inside in element.select("[id], a[name]"):
        anchors.append(inside.attr("id") or inside.attr("name"))
    around = element.parent
    if around is not None and around.tag in ("section", "div", "article"):
        first = next(iter(around.iter_elements()), None)
        anchors.append(around.attr("id") if first == element else None)
    words = _one_line(text)
    anchor = next((found for found in anchors if found and re.fullmatch(r"[^\s{}]+", found)), "")
    own = f" {{#{anchor}}}" if anchor else ""
    return f"\n\n{'#' * int(element.tag[1])} {words}{own}\n\n" if words else ""


@cache
def _options() -> Any:
    from turbohtml import Markdown

    return Markdown(
        links=Markdown.Links(ignore=True),
        images=Markdown.Images(mode="ignore"),
        inline=Markdown.Inline(ignore_emphasis=True),
        tables=Markdown.Tables(cell_blocks="text"),
        # Words as they are read: "max_rows", not "max\_rows", which no search finds.
        escaping=Markdown.Escaping(mode="none", asterisks=False, underscores=False),
        converters=dict.fromkeys(HEADINGS, _heading),
    )
