"""Lines out of pieces, however they are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_answers.rendering.lines import END, START, LineCutter


def read(pieces: list[str]) -> list[str]:
    cutter, lines = LineCutter(), []
    is_open = False
    for piece in pieces + [None]:
        for kind, text in cutter.flush() if piece is None else cutter.feed(piece):
            if kind == START:
                assert not is_open
                is_open = True
                lines.append(text)
            elif kind == END:
                assert is_open
                is_open = False
            else:
                assert is_open and text
                lines[-1] += text
    assert not is_open
    return lines


@given(st.lists(st.text(alphabet="a-`~|# 1.\n\r\0>", max_size=6), max_size=12))
def test_lines_do_not_depend_on_the_cuts(pieces):
    text = "".join(pieces)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd").split("\n")
    if not lines[-1]:
        lines.pop()
    assert read(pieces) == read(list(text)) == lines


@pytest.mark.parametrize("text", ["-", "- ", "1. ", "```", "```py", "> ~~~ x", "|-|", "  ", "2024"])
def test_a_start_that_may_be_several_things_is_held(text):
    assert LineCutter().feed(text) == []


@pytest.mark.parametrize("text", ["a", "- a", "**b", "1. a", "# a", "`c", "```a`", "| a", "[1]"])
def test_a_line_whose_kind_is_clear_starts_at_once(text):
    assert LineCutter().feed(text) == [(START, text)]


def test_a_carriage_return_waits_for_its_line_feed():
    assert read(["a\r", "\nb\r", "c"]) == ["a", "b", "c"]
