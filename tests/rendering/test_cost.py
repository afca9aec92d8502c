"""What long and malicious answers cost, counted, not timed."""

from __future__ import annotations

import sys

import pytest

from ai_answers.rendering import LinkPolicy, PartRenderer
from tests.rendering.long_answers import ANSWERS, pieces
from tests.rendering.page import Page

LINKS = LinkPolicy(base="https://site.example/")


@pytest.mark.parametrize("text", ANSWERS.values(), ids=ANSWERS)
def test_a_long_answer_is_sent_at_most_five_times(text):
    """Design 8 allows six times; applying all of it gives the page that was meant."""
    renderer, page = PartRenderer(links=LINKS, reference_count=2), Page()
    for piece in pieces(text):
        page.apply(renderer.feed(piece))
    page.apply(renderer.flush())
    assert page.html() == renderer.parts
    assert page.bytes_sent <= 5 * len("".join(renderer.parts).encode())


def work(text: str) -> int:
    """Count the calls, of Python and of C, that streaming a text takes."""
    count = 0

    def count_call(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    renderer = PartRenderer(links=LINKS, reference_count=2)
    before = sys.getprofile()
    sys.setprofile(count_call)
    try:
        for piece in pieces(text):
            renderer.feed(piece)
        renderer.flush()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("name", ANSWERS)
def test_twice_the_answer_is_twice_the_work(name):
    """A part that grows is not read again from its start."""
    text = ANSWERS[name][:10_000]
    assert work(text) < 2.6 * work(text[:5000])


BOMBS = [">", "- ", "- > ", "[", "![", "[a](", "[a](b", "](", "*", "**a ", "*a_ ", "`", "`a", "~"]
BOMBS += ["$a ", "\\(", "\\[", "[1]", "|", "|a\n", "# ", "&", "<", "\\", "a\n", "- a\n", "> a\n"]
BOMBS += ["<http://a", "[a](<", '[a](b "', "\n>", "\n- ", "e\u0301", "[[1]](", "1. ", "\t"]


@pytest.mark.parametrize("sign", BOMBS)
def test_a_repeated_sign_stays_proportional(sign):
    """P61, H80: from 600 to 2,400 signs the work grows about as the text does."""
    small, large = work(sign * 600), work(sign * 2400)
    assert large < 8 * small


@pytest.mark.parametrize("sign", BOMBS)
def test_a_repeated_sign_makes_no_large_page(sign):
    text = (sign * 32_000)[:32_000]
    renderer = PartRenderer(links=LINKS, reference_count=2)
    renderer.feed(text)
    renderer.flush()
    assert len("".join(renderer.parts)) <= 10 * len(text)


def test_growing_runs_of_backticks_and_deep_lists_end():
    for text in (
        " ".join("`" * count for count in range(1, 300)),
        "".join("  " * depth + "- a\n" for depth in range(200)),
        "[" * 5000 + "]" * 5000 + "(x)",
    ):
        renderer = PartRenderer(links=LINKS)
        for piece in pieces(text):
            renderer.feed(piece)
        renderer.flush()
        assert renderer.parts
