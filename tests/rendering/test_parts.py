"""An answer as it streams: whatever the cuts, a page ends with the same HTML."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ai_answers.events import PartChanged
from ai_answers.rendering import LinkPolicy, PartRenderer, render
from tests.rendering.page import Page
from tests.rendering.payloads import judge

LINKS = LinkPolicy(base="https://site.example/")

TOKENS = ["- ", "* ", "1. ", "2) ", "> ", ">", "    ", "  ", " ", "\t", "\n", "\n", "\n\n", "\r\n"]
TOKENS += ["```", "~~~", "# ", "#", "---", "===", "***", "| ", "|", "\n---|---\n", "|:-:|-", "\r"]
TOKENS += ["a | b", "\n| a | b |\n", "word", "two words ", "\\", "`", "*", "**", "[1]", "_", "-"]
TOKENS += ["=", "10. ", "\n  b\n", "\n    d\n", "<b>", "&amp;", "$", "[x](/y)", "![a](/b)", "\0"]
TOKENS += ["~~", "<http://a.b>", "\u2028", "\ud83d", "\ude00", "\xa0", "é", "[", "](", "<script>"]


def stream(pieces: list[str], *, pause_after: int = -1) -> tuple[Page, PartRenderer]:
    """Feed the pieces, apply every event to a page, and compare after each."""
    renderer, page = PartRenderer(links=LINKS, reference_count=3), Page()
    for number, piece in enumerate(pieces):
        page.apply(renderer.feed(piece))
        assert page.html() == renderer.parts
        if number == pause_after:
            page.apply(renderer.catch_up())
            assert page.html() == renderer.parts
    page.apply(renderer.flush())
    assert page.html() == renderer.parts
    return page, renderer


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=25), st.data())
@example(["a | b", "\n---|---\n", "| ", "two words "], None)
@example(["- ", "two words ", "\n\n", "  ", "word", "\n", "- ", "word"], None)
def test_every_cut_gives_the_same_page(tokens, data):
    """S95, S96, P12: frames applied one by one give ``parts``, and in the end the whole."""
    text = "".join(tokens)
    whole = render(text, links=LINKS, reference_count=3)
    pieces = [list(text)]
    if data is not None and text:
        sizes = data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=8))
        cut, at = [], 0
        while at < len(text):
            size = sizes[len(cut) % len(sizes)]
            cut.append(text[at : at + size])
            at += size
        pieces.append(cut)
    for cut in pieces:
        page, _ = stream(cut, pause_after=len(cut) // 2)
        assert "".join(page.html()) == whole
        judge(whole)


ANSWER = (
    "The **depot** opens at six[1]:\n\n1. Sign in\n2. Take a card\n   - blue for the hall\n"
    "   - red for the yard[2]\n\n   Then wait.\n\n"
    "| Door | Hours |\n|---|--:|\n| A | 6 |\n| B | 7 |\n\n"
    "```sh\nopen --door A\n\nexit\n```\n\n> A quote\ngoes on\n> - and on\n\nEnd\n===\n"
)


@pytest.mark.parametrize("at", range(0, len(ANSWER)))
def test_an_answer_cut_in_two_anywhere_is_the_same(at):
    page, _ = stream([ANSWER[:at], ANSWER[at:]])
    assert "".join(page.html()) == render(ANSWER, links=LINKS, reference_count=3)


def test_a_settled_part_never_changes():
    """H12: of the text that was shown before the last part, no node is replaced."""
    renderer = PartRenderer(links=LINKS, reference_count=3)
    settled: list[str] = []
    for character in ANSWER:
        events = renderer.feed(character)
        assert all(event.index >= len(settled) for event in events)
        assert renderer.parts[: len(settled)] == settled
        settled = renderer.parts[:-1]
    assert len(settled) > 4


@pytest.mark.parametrize(
    "before, piece, events",
    [
        ("", "Hello ", [PartChanged(index=0, html="<p>Hello</p>")]),
        ("- a\n", "- b", [PartChanged(index=0, child=(1,), html="<li>b</li>")]),
        (
            "- **a** b [1]\n",
            "  - c",
            [PartChanged(index=0, child=(0, 2), html="<ul><li>c</li></ul>")],
        ),
        ("- a\n  - b\n", "  - c", [PartChanged(index=0, child=(0, 0, 1), html="<li>c</li>")]),
        (
            "|a|\n|-|\n|b|\n",
            "|c",
            [PartChanged(index=0, child=(1, 1), html="<tr><td>c</td></tr>")],
        ),
        ("```\na\n", "b <", [PartChanged(index=0, append="b <")]),
        ("> a\n>\n", "> b", [PartChanged(index=0, child=(1,), html="<p>b</p>")]),
        ("a\n\n", "b", [PartChanged(index=1, html="<p>b</p>")]),
    ],
)
def test_only_the_smallest_element_is_sent(before, piece, events):
    """The forms of the ``part`` frame (design 5); paths count elements, also those in text."""
    renderer = PartRenderer(links=LINKS, reference_count=3)
    renderer.feed(before)
    renderer.catch_up()
    assert renderer.feed(piece) == events


@pytest.mark.parametrize("held", ["-", "***", "1.", "#", "```py", "~~~", "| --- |", "=", "> > -"])
def test_a_line_is_held_until_it_is_clear_what_it_begins(held):
    """A second part that came too early would have to be taken away again."""
    renderer = PartRenderer(links=LINKS)
    renderer.feed("a\n")
    assert renderer.feed(held) == []


def test_a_short_answer_is_shown_from_its_first_letter():
    renderer = PartRenderer(links=LINKS)
    assert renderer.feed("W") == [PartChanged(index=0, html="<p>W</p>")]


def test_a_long_paragraph_is_sent_in_growing_steps_and_in_full_on_demand():
    renderer = PartRenderer(links=LINKS)
    renderer.feed("word " * 100)
    assert renderer.feed("more ") == []
    (event,) = renderer.catch_up()
    assert event.html.endswith("more</p>")
    assert renderer.catch_up() == []


def test_citations_count_from_when_their_source_is_known():
    renderer = PartRenderer(links=LINKS)
    renderer.feed("a[1]\n\n")
    renderer.reference_count = 1
    renderer.feed("b[1]\n\n")
    renderer.flush()
    assert renderer.parts[0] == "<p>a[1]</p>"
    assert 'data-ref-index="1"' in renderer.parts[1]


def test_text_after_the_end_begins_a_new_part():
    renderer = PartRenderer(links=LINKS)
    renderer.feed("- a")
    renderer.flush()
    assert renderer.feed("- b") == [PartChanged(index=1, html="<ul><li>b</li></ul>")]
    assert renderer.flush() == []


@pytest.mark.parametrize("text", ["", "\n\n", "   ", "\r"])
def test_nothing_gives_no_part(text):
    _, renderer = stream([text])
    assert renderer.parts == []
