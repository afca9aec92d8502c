"""The blocks of an answer: which there are, and that they are those markdown-it finds."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from ai_answers.rendering import LinkPolicy, render
from tests.rendering.whole import render_at_once

LINKS = LinkPolicy(base="https://site.example/")

# Left out is what markdown-it reads otherwise than CommonMark and GFM: a table's header that
# begins with the sign of another block, white space at a line's start inside a code span, and
# such a sign in a line indented by four, below a list item indented by more.
LINES = ["a", "b c", "# h", "## h ##", "#x", "---", "***", "===", "- - -", "```", "~~~", "````"]
LINES += ["| a | b |", "|---|:-:|", "a | b", "---|---", "| x |", "|-|", "> ", ">", "-", "1.", "x\\"]
LINES += ["*a* **b**", "[1] c", "<div>", "&amp; é", "a  ", "", "", "", "    d", "\td", "      e"]
SIGNS = ["", "", "", "> ", ">", "- ", "* ", "-   ", "1. ", "2) ", "  ", " ", "   "]

EMPTY_ITEM_AND_BLANKS = re.compile(r"([-*]|\d+[.)])[ ]*\n([ >]*\n){2}")


@st.composite
def markdown(draw) -> str:
    lines = []
    for _ in range(draw(st.integers(1, 9))):
        line = draw(st.sampled_from(LINES))
        signs = draw(st.lists(st.sampled_from(SIGNS), max_size=2))
        prefix = "".join(signs)
        if prefix.strip() and "|" in line:
            prefix = ""
        if prefix.startswith("    ") or (not prefix.strip() and line[:1] in "#>-1*`~=|"):
            prefix = prefix[:2]
        lines.append(prefix + line)
    return "\n".join(lines)


@settings(max_examples=400, deadline=None)
@given(markdown())
@example("> a\nlazy\n\n> b")
@example("- a\n\n  b\n- c\n\n\n- d")
@example("a | b\nc | d\n---|---\ne")
@example("- x\n\n  a | b\n  ---|---\n  1 | 2\n\n  - x")
@example("1. a\n2. b\n3) c\n- d\n  1. e\n     f")
@example("-\n\n  a")
@example("> ```\n> a\n\nb")
def test_blocks_are_those_of_markdown_it(text):
    """S94: read line by line, an answer has the blocks that the whole text has."""
    # markdown-it ends a list there; in CommonMark blank lines do not.
    assume(not EMPTY_ITEM_AND_BLANKS.search(text))
    assert render(text, links=LINKS, reference_count=3) == render_at_once(
        text, links=LINKS, reference_count=3
    )


@pytest.mark.parametrize(
    "text, html",
    [
        ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
        ("- a\n\n- b", "<ul><li>a</li><li>b</li></ul>"),
        ("- a\n\n  b\n- c", "<ul><li>a<p>b</p></li><li>c</li></ul>"),
        ("- # a", "<ul><li><h3>a</h3></li></ul>"),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("1. a\n   - b", "<ol><li>a<ul><li>b</li></ul></li></ol>"),
    ],
)
def test_the_first_text_of_an_item_has_no_paragraph(text, html):
    """S98, S99: with or without blank lines between the items."""
    assert render(text, links=LINKS, reference_count=0) == html


@pytest.mark.parametrize("level, shown", [(1, 3), (2, 4), (3, 5), (4, 6), (5, 6), (6, 6)])
def test_headings_stay_below_those_of_the_page(level, shown):
    text = "#" * level + " Hours"
    assert render(text, links=LINKS, reference_count=0) == f"<h{shown}>Hours</h{shown}>"


def test_a_column_is_aligned_by_data():
    """S91: no style attribute, so that a strict Content-Security-Policy holds."""
    html = render("|a|b|c|d|\n|:-|:-:|-:|-|\n|1|2|3|4|", links=LINKS, reference_count=0)
    for align in ("left", "center", "right"):
        assert html.count(f' data-align="{align}"') == 2
    assert "style" not in html
    assert "<td>4</td>" in html


def test_a_header_that_begins_a_list_is_a_list():
    """As in GFM. It could not be otherwise: the list is on the page before the next line."""
    html = render("- a | b\n---|---", links=LINKS, reference_count=0)
    assert html == "<ul><li>a | b\n---|---</li></ul>"


def test_a_table_fills_up_short_rows_but_not_without_end():
    """H81."""
    row, rule = "|" + "a|" * 250, "|" + "-|" * 250
    text = "\n".join([row, rule] + ["|b"] * 250)
    html = render("|a|b|\n|-|-|\n|1|", links=LINKS, reference_count=0)
    assert html.endswith("<tr><td>1</td><td></td></tr></tbody></table>")
    assert len(render(text, links=LINKS, reference_count=0)) < 20 * len(text)


def test_containers_beyond_twenty_are_text():
    html = render("> " * 30 + "a", links=LINKS, reference_count=0)
    assert html.count("<blockquote>") <= 20
    assert html.count("&gt;") + html.count("<blockquote>") == 30
