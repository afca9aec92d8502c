"""Cut a source's Markdown into statements that can be quoted alone.

In: the text of a numbered source. Out: ``Statement`` values: whole sentences, list items and
table rows as one readable line of Markdown, with the headings they stand under. Never a heading
alone, never half a sentence. No Django, no I/O: feed it a string to test it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_CODE_LINES = 12
SHORT_ITEM = 8
"""Words up to which a list item needs its introduction."""
LONGEST_LIST = 320
LONGEST = 700
"""Characters; a longer sentence is no quotation anyone wants to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One thing a source says."""

    text: str
    """One line of inline Markdown, without links, images and emphasis."""
    headings: tuple[str, ...] = ()
    """What it stands under, outermost first."""
    code: str = ""
    """A short code block the sentence introduces."""


_FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
# A heading inside a chunk, and in many a page, is a paragraph in bold.
_BOLD = re.compile(r"^\s{0,3}\*\*([^*]{1,200})\*\*:?\s*$")
BOLD_LEVEL = 7
_UNDERLINE = re.compile(r"^\s{0,3}(=+|-{2,})\s*$")
_ITEM = re.compile(r"^\s*(?:[-*+\u2022]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_ROW = re.compile(r"^\s*\|.*\|\s*$")
_RULE = re.compile(r"^\s*\|?[\s:|-]*-{2,}[\s:|-]*$")
_QUOTE = re.compile(r"^\s{0,3}(?:>\s?)+")
_DEFINITION = re.compile(r"^\s{0,3}\[[^\]]+\]:\s+\S+")
_HEADING_JOINT = re.compile(r"\s+\u203a\s+")


def statements_of(text: str) -> list[Statement]:
    """Return the statements of ``text`` in order, each once though chunks overlap."""
    found: dict[str, Statement] = {}
    for statement in _Reader(text).read():
        found.setdefault(statement.text, statement)
    return list(found.values())


@dataclass(slots=True)
class _Reader:
    """Goes through the lines once and collects the open paragraph, list or table."""

    text: str
    headings: list[tuple[int, str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    """Of the open paragraph or list item."""
    intro: str = ""
    """The paragraph before a list, when it ends with a colon."""
    in_item: bool = False
    after_item: bool = False
    """The last block was a list item: what is indented may belong to it."""
    items: list[str] = field(default_factory=list)
    """Short items since the introduction."""
    header: list[str] | None = None
    """Cells of the open table's first row."""
    waiting: Statement | None = None
    """A sentence that may introduce the code block that comes next."""

    def read(self) -> Iterator[Statement]:
        lines = _without_front_matter(self.text.splitlines())
        at = 0
        while at < len(lines):
            code = self._code_at(lines, at)
            if code is None:
                yield from self._line(lines[at])
                at += 1
            else:
                at, body = code
                yield from self._close()
                yield from self._code(body)
        yield from self._close()
        yield from self._list()

    def _code_at(self, lines: list[str], at: int) -> tuple[int, list[str]] | None:
        """Return where the code block that begins at ``at`` ends, and its lines."""
        fence = _FENCE.match(lines[at])
        if fence:
            end = at + 1
            while end < len(lines) and not _closes(lines[end], fence[1]):
                end += 1
            return end + 1, lines[at + 1 : end]
        indent = "        " if self.after_item else "    "
        if self.lines or not lines[at].strip() or not _indented(lines[at], indent):
            return None
        end = at
        while end < len(lines) and (not lines[end].strip() or _indented(lines[end], indent)):
            end += 1
        body = [line.expandtabs(4)[len(indent) :] for line in lines[at:end]]
        while not body[-1].strip():
            body.pop()
        return end, body

    def _line(self, line: str) -> Iterator[Statement]:
        line = _QUOTE.sub("", line)
        heading = _HEADING.match(line)
        if heading:
            yield from self._close()
            yield from self._list()
            self.waiting = None
            self._open_heading(len(heading[1]), heading[2])
        elif not self.lines and (bold := _BOLD.match(line)):
            yield from self._list()
            self.waiting = None
            self._open_heading(BOLD_LEVEL, bold[1])
        elif _UNDERLINE.match(line) and self.lines and not self.in_item:
            title, self.lines = " ".join(self.lines), []
            self._open_heading(1 if "=" in line else 2, title)
        elif _ROW.match(line) or (self.header is not None and "|" in line):
            yield from self._row(line)
        elif not line.strip() or _DEFINITION.match(line):
            yield from self._close()
        elif item := _ITEM.match(line):
            yield from self._close()
            self.in_item = True
            self.lines.append(line[item.end() :])
        else:
            if self.header is not None:
                yield from self._close()
            self.lines.append(line.strip())

    def _open_heading(self, level: int, title: str) -> None:
        self.intro, self.after_item = "", False
        path = [plain for part in _HEADING_JOINT.split(title) if (plain := flatten(part))]
        if len(path) > 1:  # a chunk's own path stands above it and is complete
            self.headings = [(0, part) for part in path]
            return
        self.headings = [(at, text) for at, text in self.headings if at < level]
        self.headings += [(level, part) for part in path]

    def _row(self, line: str) -> Iterator[Statement]:
        cells = [flatten(cell) for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if _RULE.match(line):
            return
        if self.header is None:
            yield from self._close()
            self.header = cells
            return
        named = [
            f"{name}: {cell}" if name and name != cell else cell
            for name, cell in zip(self.header, cells, strict=False)
            if cell
        ]
        if len(named) > 1:
            yield from self._say("; ".join(named))

    def _close(self) -> Iterator[Statement]:
        """End the open paragraph, list item or table."""
        text, self.lines = flatten(" ".join(self.lines)), []
        in_item, self.in_item = self.in_item, False
        self.header = None
        if not text:
            return
        self.waiting = None  # an introduction nothing came for is half a sentence
        self.after_item = in_item
        if in_item:
            yield from self._item(text)
            return
        yield from self._list()
        sentences = _whole(split_sentences(text))
        self.intro = sentences[-1] if sentences and sentences[-1].endswith(":") else ""
        for sentence in sentences[:-1] if self.intro else sentences:
            yield from self._say(sentence)
        if self.intro:
            self.waiting = self._make(self.intro)

    def _item(self, text: str) -> Iterator[Statement]:
        # A short item makes sense only behind what introduces it.
        if self.intro and len(text.split()) <= SHORT_ITEM:
            self.items.append(text)
            yield from self._say(f"{self.intro} {text}")
            return
        for sentence in split_sentences(text):
            yield from self._say(sentence)

    def _list(self) -> Iterator[Statement]:
        """Say a short list as a whole, too: the question may be after all of it."""
        items, self.items = self.items, []
        whole = f"{self.intro} {'; '.join(items)}"
        if len(items) > 1 and len(whole) <= LONGEST_LIST:
            yield from self._say(whole)

    def _code(self, code: list[str]) -> Iterator[Statement]:
        intro, self.waiting = self.waiting, None
        if intro is not None and 0 < len(code) <= MAX_CODE_LINES:
            yield Statement(text=intro.text, headings=intro.headings, code="\n".join(code))

    def _say(self, text: str) -> Iterator[Statement]:
        if any(c.isalnum() for c in text) and len(text) <= LONGEST:
            yield self._make(text)

    def _make(self, text: str) -> Statement:
        return Statement(text=text, headings=tuple(title for _, title in self.headings))


def _whole(sentences: list[str]) -> list[str]:
    """Drop what a chunk's border cut off at either end of a paragraph."""
    if sentences and sentences[0][0].islower() and " " in sentences[0]:
        sentences = sentences[1:]
    if len(sentences) > 1 and sentences[-1][-1].isalnum() and not sentences[-2][-1].isalnum():
        sentences = sentences[:-1]
    return sentences


def _without_front_matter(lines: list[str]) -> list[str]:
    if lines and lines[0].strip() == "---" and "---" in (line.strip() for line in lines[1:20]):
        end = next(n for n, line in enumerate(lines[1:20], 1) if line.strip() == "---")
        return lines[end + 1 :]
    return lines


def _closes(line: str, fence: str) -> bool:
    return line.strip().startswith(fence) and not line.strip().strip(fence[0])


def _indented(line: str, indent: str) -> bool:
    return line.expandtabs(4).startswith(indent)


# All lengths are bounded: text of a page must not be able to keep these patterns busy.
_IMAGE = re.compile(r"!\[[^\[\]]{0,300}\](?:\([^()]{0,500}\)|\[[^\[\]]{0,100}\])")
_LINK = re.compile(
    r"\[([^\[\]]{1,300})\](?:\([^()\s]{0,500}(?:\s\"[^\"]{0,200}\")?\)|\[[^\[\]]{0,100}\])"
)
_AUTOLINK = re.compile(r"<(?:https?://|mailto:)?([^<>\s.]{1,250}\.[^<>\s]{1,250})>")
_HTML = re.compile(r"</?[a-zA-Z][^<>]{0,500}>|<!--.{0,500}?-->")
_EMPHASIS = re.compile(r"(?<![\w*\\])(\*{1,3}|_{1,3})(?=\S)(.{1,300}?)(?<=\S)\1(?![\w*])")
_STRONG = re.compile(r"\*{2,3}")
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`).{1,300}?(?<!`)\1(?!`)")
_NUMBER = re.compile(r"\[(\d[\d\s,;-]{0,20})\]")
_LEADING = re.compile(r"^(?:[#>|=~+]+|[-*](?=\s)|\d+[.)](?=\s))\s*")


def flatten(text: str) -> str:
    """Make one plain line of inline Markdown: code spans stay, links and emphasis become text."""
    pieces, end = [], 0
    for code in _CODE.finditer(text):
        pieces += [_plain(text[end : code.start()]), code[0]]
        end = code.end()
    pieces.append(_plain(text[end:]))
    line = " ".join(_links("".join(pieces)).split())
    if line[:1] == line[-1:] == "*":
        line = line.strip("*")
    return _LEADING.sub("", line)


def _plain(text: str) -> str:
    text = _HTML.sub(" ", _AUTOLINK.sub(r"\1", text))
    text = _EMPHASIS.sub(r"\2", text)
    # What is left over belongs to a pair around code, or to nothing.
    return _NUMBER.sub(r"(\1)", _STRONG.sub("", text).replace("`", "'"))


def _links(text: str) -> str:
    return _LINK.sub(r"\1", _IMAGE.sub(" ", text))


_END = re.compile(
    r"[.!?\u2026\u061f\u0964]+[\"'\u201d\u2019\u00bb)\]]*\s+|[\u3002\uff01\uff1f]+[\u300d\u300f\u201d)]*\s*"
)
# A full stop behind these ends no sentence; so does one behind a single letter or a day's number.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\u201e\"'])(?:e\.g|i\.e|etc|vs|cf|al|approx|incl|excl|resp|no|nr|vol|fig|eq|sec|"
    r"mr|mrs|ms|dr|prof|st|inc|ltd|co|jr|sr|dept|z\.\s?b|d\.\s?h|u\.\s?a|o\.\s?\u00e4|bzw|ca|usw|"
    r"evtl|ggf|inkl|zzgl|abs|art|str|tel|p\.\s?ex|env|mme|m|sig|sra?|ej|p\.\s?ej|\w|\d{1,2})\.\s+$",
    re.I,
)


def split_sentences(text: str) -> list[str]:
    """Split one line into sentences; full stops in code spans and abbreviations do not count."""
    masked = _CODE.sub(lambda code: "x" * len(code[0]), text)
    sentences, begin = [], 0
    for end in _END.finditer(masked):
        behind = masked[end.end() : end.end() + 1]
        spaced = end[0][-1].isspace() and end[0][0] not in "\u3002\uff01\uff1f"
        if spaced and (
            behind.islower()
            or (
                end[0][0] == "."
                and _ABBREVIATION.search(masked[max(0, end.end() - 16) : end.end()])
            )
        ):
            continue
        sentences.append(text[begin : end.end()].strip())
        begin = end.end()
    sentences.append(text[begin:].strip())
    return [sentence for sentence in sentences if sentence]
