"""Citations, code, math and images in the text of one paragraph."""

from __future__ import annotations

import pytest

from ai_answers.rendering import LinkPolicy, render

LINKS = LinkPolicy(base="https://site.example/")


def chip(number: int, *, glued: bool = False) -> str:
    joiner = "\u2060" if glued else ""
    return (
        f'{joiner}<sup class="ai-answers-citation"><bdi>'
        f'<a data-ref-index="{number}">{number}</a></bdi></sup>'
    )


def show(text: str) -> str:
    return render(text, links=LINKS, reference_count=3)


@pytest.mark.parametrize(
    "text, html",
    [
        ("**a[1]**", f"<p><strong>a{chip(1, glued=True)}</strong></p>"),
        ("**[1]**", f"<p><strong>{chip(1)}</strong></p>"),
        ("_a[1]_", f"<p><em>a{chip(1, glued=True)}</em></p>"),
        ("~~a[1]~~", f"<p><s>a{chip(1, glued=True)}</s></p>"),
        ("> a[1]", f"<blockquote><p>a{chip(1, glued=True)}</p></blockquote>"),
        ("- a[1]", f"<ul><li>a{chip(1, glued=True)}</li></ul>"),
        ("# a[1]", f"<h3>a{chip(1, glued=True)}</h3>"),
        ("a[1]\n===", f"<h3>a{chip(1, glued=True)}</h3>"),
        ("a\n: b[1]", f"<p>a\n: b{chip(1, glued=True)}</p>"),
        (
            "|a[1]|\n|-|\n|b[2]|",
            f"<table><thead><tr><th>a{chip(1, glued=True)}</th></tr></thead>"
            f"<tbody><tr><td>b{chip(2, glued=True)}</td></tr></tbody></table>",
        ),
        (
            "[see it[1]](/x)",
            f'<p><a href="/x" rel="nofollow noreferrer">see it</a>{chip(1, glued=True)}</p>',
        ),
        ("[see it[1]](//evil.example)", f"<p>see it{chip(1, glued=True)}</p>"),
    ],
)
def test_a_citation_is_a_chip_wherever_it_stands(text, html):
    """H01, H06, M7: in a link it follows the link, as links do not nest."""
    assert show(text) == html


def test_a_chip_is_glued_to_its_word_and_isolated():
    """H02, H03: it stays on the line of its word; its digits stand apart from Hebrew."""
    assert show("שלום[1]. עולם") == f"<p>שלום{chip(1, glued=True)}. עולם</p>"
    assert show("a [1]") == f"<p>a {chip(1)}</p>"
    assert show("a  \n[1]") == f"<p>a<br>{chip(1)}</p>"


def test_adjacent_and_repeated_citations_are_chips_of_their_own():
    """H11."""
    assert show("a[1][2] b[1]") == (
        f"<p>a{chip(1, glued=True)}{chip(2, glued=True)} b{chip(1, glued=True)}</p>"
    )


@pytest.mark.parametrize(
    "text, shown",
    [
        (r"rows\[2\]", "rows[2]"),
        ("[4]", "[4]"),
        ("[0]", "[0]"),
        ("[99999]", "[99999]"),
        ("[x]", "[x]"),
        ("[1, 2]", "[1, 2]"),
        ("[ 1 ]", "[ 1 ]"),
        ("[-1]", "[-1]"),
        ("[1", "[1"),
        ("![a [1]](/x.png) b", "a b"),
    ],
)
def test_what_is_no_citation_stays_text(text, shown):
    """Design 1.12: escaped, out of range, not a number; an image's text is no citation (B10)."""
    assert show(text) == f"<p>{shown}</p>"


@pytest.mark.parametrize(
    "text, shown",
    [
        ("`rows[2]`", "<code>rows[2]</code>"),
        ("``a`[2]``", "<code>a`[2]</code>"),
        ("`rows[2]", "`rows[2]"),
        ("$x[2] = y$", "$x[2] = y$"),
        ("$$a_1[2]*b*$$", "$$a_1[2]*b*$$"),
        (r"\(a[2]\)", r"\(a[2]\)"),
        (r"\[x_1[2]\]", r"\[x_1[2]\]"),
        (r"\[ x[2]", "[ x[2]"),
        ("$x [2]", "$x [2]"),
    ],
)
def test_code_and_math_hold_no_citation_even_unclosed(text, shown):
    """M2: unclosed code counts as code to the end of its text; math stays as written."""
    assert show(text) == f"<p>{shown}</p>"


@pytest.mark.parametrize("text", ["costs $5 [1] or $6", "a$b [1]$", "$ [1] $", "$AAPL rose [1]"])
def test_a_price_opens_no_math(text):
    assert chip(1) in show(text)


def test_code_ends_with_its_block():
    assert show("- `a [1]\n- b [1]") == f"<ul><li>`a [1]</li><li>b {chip(1)}</li></ul>"


def test_fenced_and_indented_code_hold_no_citation():
    assert show("```\n[1]\n```") == "<pre><code>[1]\n</code></pre>"
    assert show("    a[1]") == "<pre><code>a[1]\n</code></pre>"


def test_an_image_is_its_text():
    """Design 1.11: nothing in an answer fetches."""
    assert show("a ![the *plan*](//evil.example/x.png) b") == "<p>a the plan b</p>"


def test_a_text_that_is_no_prose_is_shown_as_it_is():
    text = "*a [1] " * 3000
    assert show(text) == f"<p>{text.strip()}</p>"
