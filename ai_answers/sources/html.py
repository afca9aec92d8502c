"""HTML to Markdown, as far as reading and quoting need it.

In: the HTML of a page or of a rich-text field. Out: ``Page(title, text)``; the text keeps
headings, lists, tables and code, and leaves out links' targets, images, navigation, scripts,
forms and everything a visitor does not see (``hidden``, ``aria-hidden``, ``display: none``).
Where the page has a ``<main>``, only that is read. Broken HTML never raises. Holds no state
between calls; test it with strings.
"""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from typing import NamedTuple

_is_void = re.compile(
    "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr"
).fullmatch
_is_dropped = re.compile(
    "script|style|noscript|template|nav|svg|math|iframe|object|canvas|audio|video|head|select|"
    "button|textarea|dialog"
).fullmatch
_is_block = re.compile(
    "p|div|section|article|main|header|footer|aside|figure|figcaption|blockquote|ul|ol|li|dl|dt|"
    "dd|table|thead|tbody|tfoot|caption|pre|h[1-6]|hr|address|details|summary|fieldset|form"
).fullmatch
# A start tag ends an open element of these kinds without an end tag (the common half of the
# standard's rules).
ENDS = {
    "li": {"li"}, "dt": {"dt", "dd"}, "dd": {"dt", "dd"}, "tr": {"td", "th", "tr"},
    "td": {"td", "th"}, "th": {"td", "th"},
}  # fmt: skip
UNSEEN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))", re.I)
HEADING = re.compile(r"h[1-6]$")


class Page(NamedTuple):
    title: str
    """Of ``<title>``, else the first ``<h1>``; empty when there is neither."""
    text: str


def html_to_markdown(html: str) -> Page:
    """Read ``html``, a whole page or a fragment."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader.end_block()
    lines = reader.main if reader.main is not None else reader.lines
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return Page(_one_line(reader.title) or reader.first_heading, text)


def _one_line(text: str) -> str:
    return " ".join(text.split())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.main: list[str] | None = None
        self.title = ""
        self.first_heading = ""
        self._inline: list[str] = []
        self._open: list[tuple[str, bool]] = []  # element, whether it hides what is in it
        self._counts: Counter[str] = Counter()  # of the open elements, by name
        self._hidden = 0
        self._lists: list[int | None] = []  # the next number of an <ol>, None for <ul>
        self._row: list[str] | None = None
        self._rows = 0
        self._main_from: int | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        while self._open and self._is_ended_by(self._open[-1][0], tag):
            self._close(self._open[-1][0])
        if not self._hidden:
            self._start(tag)
        if _is_void(tag):
            return
        hides = _is_dropped(tag) is not None or _is_unseen(dict(attrs))
        self._open.append((tag, hides))
        self._counts[tag] += 1
        self._hidden += hides

    def handle_endtag(self, tag: str) -> None:
        if self._in(tag):
            while self._open:
                name = self._open[-1][0]
                self._close(name)
                if name == tag:
                    break

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "title" and not self._in("svg"):
            self.title += data
        elif not self._hidden:
            self._inline.append(data)

    def _is_ended_by(self, name: str, tag: str) -> bool:
        if name == "p":
            return _is_block(tag) is not None
        return name in ENDS.get(tag, ())

    def _in(self, tag: str) -> bool:
        return self._counts[tag] > 0

    def _start(self, tag: str) -> None:
        if tag == "br":
            self._inline.append("\n")
        elif tag == "code" and not self._in("pre"):
            self._inline.append("`")
        elif tag == "tr":
            self.end_block()
            self._row = []
        elif tag in ("td", "th"):
            self._inline.clear()
        elif _is_block(tag) and self._row is None:
            self.end_block()
            if tag in ("ul", "ol"):
                self._lists.append(1 if tag == "ol" else None)
            elif tag == "table":
                self._rows = 0
            elif tag == "main" and self.main is None:
                self._main_from = len(self.lines)
        elif _is_block(tag):
            self._inline.append(" ")

    def _close(self, tag: str) -> None:
        _, hides = self._open.pop()
        self._counts[tag] -= 1
        self._hidden -= hides
        if hides or self._hidden:
            return
        if tag == "code" and not self._in("pre"):
            self._inline.append("`")
        elif tag in ("td", "th") and self._row is not None:
            self._row.append(_one_line("".join(self._inline)).replace("|", "\\|"))
            self._inline.clear()
        elif tag == "tr":
            self._end_row()
        elif self._row is None:
            self._end(tag)

    def _end(self, tag: str) -> None:
        if HEADING.match(tag):
            heading = _one_line("".join(self._inline))
            self._inline.clear()
            if heading:
                self.first_heading = self.first_heading or (heading if tag == "h1" else "")
                self.lines += ["", f"{'#' * int(tag[1])} {heading}", ""]
        elif tag == "pre":
            self._end_code()
        elif _is_block(tag):
            self.end_block(as_item=tag == "li")
            if tag in ("ul", "ol") and self._lists:
                self._lists.pop()
            if tag in ("ul", "ol", "table"):
                self.lines.append("")
            if tag == "main" and self._main_from is not None:
                self.main = self.lines[self._main_from :]
                self._main_from = None

    def end_block(self, *, as_item: bool = False) -> None:
        """Write the open line or paragraph; an open ``<li>`` gives it its sign."""
        lines = [_one_line(line) for line in "".join(self._inline).split("\n")]
        if "\n" in (text := "".join(self._inline)) and "\n" not in text.strip("\n"):
            lines = [_one_line(text)]
        self._inline.clear()
        lines = list(filter(None, lines))
        if not lines:
            return
        if self._lists and (as_item or self._in("li")):
            number = self._lists[-1]
            sign = "- " if number is None else f"{number}. "
            if number is not None:
                self._lists[-1] = number + 1
            self.lines.append("  " * (len(self._lists) - 1) + sign + " ".join(lines))
        else:
            self.lines += ["", *lines, ""]

    def _end_code(self) -> None:
        code = "".join(self._inline).strip("\n")
        self._inline.clear()
        if code.strip():
            longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
            fence = "`" * (longest + 1)
            self.lines += ["", fence, *code.split("\n"), fence, ""]

    def _end_row(self) -> None:
        cells, self._row = self._row, None
        self._inline.clear()
        if not cells or not any(cells):
            return
        if not self._rows:
            self.lines.append("")
        self.lines.append(f"| {' | '.join(cells)} |")
        self._rows += 1
        if self._rows == 1:
            self.lines.append("|" + " --- |" * len(cells))


def _is_unseen(attrs: dict[str, str | None]) -> bool:
    return (
        "hidden" in attrs
        or (attrs.get("aria-hidden") or "").lower() == "true"
        or bool(UNSEEN.search(attrs.get("style") or ""))
    )
