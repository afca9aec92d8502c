"""Build blocks from lines, each line read once.

In: the line events of ``lines``. Out: ``children``, the top-level blocks, of which only the
last may be open. This is CommonMark's own way of reading (open containers, then new blocks,
then text), with the tables of GFM and without raw HTML and link definitions, because a
definition could still change a part that was sent. markdown-it reads a whole text only, which
costs seconds for a long list that grows; it stays the measure: tests compare with its result.
Holds back nothing. No Django and no I/O.
"""

from __future__ import annotations

from . import grammar
from .blocks import Code, Heading, Leaf, Paragraph, Rule
from .containers import Container, Item, List, Quote
from .grammar import Rest
from .lines import END, START
from .tables import Row, Table

MAX_DEPTH = 20
"""Open containers; the sign of a further one is text."""


class BlockBuilder:
    """Reads lines; see the module."""

    def __init__(self) -> None:
        self._root = Container()
        self._open: list[Container] = [self._root]
        self._leaf: Leaf | None = None
        self._table: Table | None = None  # Its rows are leaves, each open for one line.
        self._line: Leaf | None = None  # What the rest of this line goes to.

    @property
    def children(self) -> list:
        """The top-level blocks so far."""
        return self._root.children

    def feed(self, kind: str, text: str) -> None:
        """Take one line event."""
        if kind == START:
            self._start(Rest(text))
        elif self._line is None:
            return  # The line is read already: a fence's opening, a rule.
        elif kind == END:
            self._end(self._line)
        else:
            self._line.add(text)

    def flush(self) -> None:
        """Close all blocks; the next line begins anew."""
        self._close_to(1)

    def _end(self, leaf: Leaf) -> None:
        if isinstance(leaf, Code):
            leaf.end_line()
        elif not isinstance(leaf, Paragraph):
            leaf.close()
        self._line = None

    def _start(self, rest: Rest) -> None:
        depth = self._match(rest)
        is_inside = depth == len(self._open)
        leaf, table = self._leaf, self._table
        if is_inside and isinstance(leaf, Code) and self._reads_code(leaf, rest):
            return
        if rest.is_blank:
            self._close_to(depth)
            return
        paragraph = leaf if is_inside and isinstance(leaf, Paragraph) else None
        if paragraph and rest.indent < 4 and self._reads_below(paragraph, rest):
            return
        is_new, is_read = self._open_blocks(rest, depth, paragraph)
        if is_read:
            return
        if not is_new and isinstance(leaf, Paragraph):
            # Also in containers whose sign this line does not repeat.
            leaf.start_line(rest.content, can_be_header=is_inside and rest.indent < 4)
            self._line = leaf
        elif not is_new and table and is_inside and rest.indent < 4:
            self._line = Row(table, rest.content)
            table.children.append(self._line)
        elif not rest.is_blank:
            if not is_new:
                self._close_to(depth)
            self._add_text(rest)

    def _match(self, rest: Rest) -> int:
        """Consume the signs of open containers; return how many of them this line is in."""
        depth = 1
        for container in self._open[1:]:
            if isinstance(container, Quote):
                if rest.indent > 3 or not rest.content.startswith(">"):
                    break
                _take_quote_sign(rest)
            elif isinstance(container, Item):
                if rest.is_blank:
                    if container.is_empty:
                        break
                elif rest.indent < container.offset:
                    break
                rest.skip(container.offset)
            depth += 1
        return depth

    def _reads_code(self, code: Code, rest: Rest) -> bool:
        """Continue or end an open code block; whether the line belonged to it."""
        if code.fence:
            if rest.indent < 4 and grammar.closes_fence(rest.content, code.fence):
                self._close_leaf()
                return True
            rest.skip(min(code.indent, rest.indent))
        elif rest.indent >= 4 or rest.is_blank:
            rest.skip(4)
        else:
            return False
        code.start_line(rest.raw)
        self._line = code
        return True

    def _reads_below(self, paragraph: Paragraph, rest: Rest) -> bool:
        """Make a table or heading of the paragraph above, if this line asks for it."""
        content = rest.content
        aligns = grammar.read_delimiters(content) if paragraph.can_be_header else None
        if aligns and len(aligns) == _count_columns(paragraph.lines[-1]):
            header = paragraph.drop_line()
            if not paragraph.lines:
                self._take_back(paragraph)
            self._close_leaf()
            self._table = Table(header, aligns)
            self._add(self._table)
            return True
        level = grammar.read_underline(content)
        if level is None:
            return False
        self._take_back(paragraph)
        heading = Heading(level, paragraph.text, is_hashed=False)
        heading.close()
        self._add(heading)
        return True

    def _take_back(self, paragraph: Paragraph) -> None:
        parent = self._open[-1]
        if isinstance(parent, Item) and parent.lead is paragraph:
            parent.lead = None
            parent.has_new_start = paragraph.is_drawn
        else:
            del parent.children[-1]
        self._leaf = None

    def _open_blocks(
        self, rest: Rest, depth: int, paragraph: Paragraph | None
    ) -> tuple[bool, bool]:
        """Open what this line begins below ``depth``, in place of what is open there.

        Returns whether something was opened, and whether the whole line is read by that.
        """
        is_new = False
        while rest.indent < 4 and not rest.is_blank:
            content = rest.content
            if content[0] == ">" and depth < MAX_DEPTH:
                self._close_to(depth)
                _take_quote_sign(rest)
                self._push(Quote())
            elif leaf := _read_leaf(content, rest.indent):
                self._close_to(depth)
                self._add(leaf)
                if isinstance(leaf, Heading):
                    self._line = leaf
                return True, True
            else:
                sign = grammar.read_item(content)
                if sign is None or depth >= MAX_DEPTH - 1:
                    break
                is_bare = len(content.rstrip(" \t")) == sign.width
                if paragraph and not is_new and (is_bare or sign.start not in (None, 1)):
                    break
                self._close_to(depth)
                self._open_item(sign, rest)
            is_new = True
            depth = len(self._open)
        return is_new, False

    def _open_item(self, sign: grammar.ItemSign, rest: Rest) -> None:
        outer = rest.indent
        rest.skip(outer)
        rest.take(sign.width)
        space = 1 if rest.is_blank or rest.indent > 4 else rest.indent
        rest.skip(space)
        around = self._open[-1]
        if isinstance(around, List) and around.kind != sign.kind:
            self._close_to(len(self._open) - 1)
        if not isinstance(self._open[-1], List):
            self._push(List(sign.kind, sign.start))
        self._push(Item(outer + sign.width + space))

    def _add_text(self, rest: Rest) -> None:
        if rest.indent >= 4:
            rest.skip(4)
            code = Code(fence="", indent=0)
            self._add(code)
            code.start_line(rest.raw)
            self._line = code
            return
        parent = self._open[-1]
        is_lead = isinstance(parent, Item) and parent.is_empty
        paragraph = Paragraph(is_bare=is_lead)
        paragraph.start_line(rest.content, can_be_header=True)
        if isinstance(parent, Item) and is_lead:
            parent.lead = self._leaf = paragraph
        else:
            self._add(paragraph)
        self._line = paragraph

    def _push(self, container: Container) -> None:
        if not isinstance(container, Item) and isinstance(self._open[-1], List):
            self._close_to(len(self._open) - 1)
        self._open[-1].children.append(container)
        self._open.append(container)

    def _add(self, leaf: Leaf | Table) -> None:
        if isinstance(self._open[-1], List):
            self._close_to(len(self._open) - 1)
        self._open[-1].children.append(leaf)
        self._leaf = leaf if isinstance(leaf, Leaf) else None

    def _close_leaf(self) -> None:
        for block in (self._leaf, self._table):
            if block is not None:
                block.close()
        self._leaf = self._table = None

    def _close_to(self, depth: int) -> None:
        self._close_leaf()
        while len(self._open) > depth:
            self._open.pop().close()


def _read_leaf(content: str, indent: int) -> Leaf | None:
    """Return the heading, code block or rule that a line begins."""
    if heading := grammar.read_heading(content):
        return Heading(*heading, is_hashed=True)
    if fence := grammar.read_fence(content):
        return Code(fence=fence, indent=indent)
    if grammar.is_rule(content):
        rule = Rule()
        rule.close()
        return rule
    return None


def _count_columns(header: str) -> int:
    return len(grammar.split_cells(header)) if "|" in header else 0


def _take_quote_sign(rest: Rest) -> None:
    rest.skip(rest.indent)
    rest.take(1)
    rest.skip(1)
