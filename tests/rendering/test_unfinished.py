"""How text looks that has no end yet."""

from __future__ import annotations

import pytest

from ai_answers.rendering.unfinished import close_open_ends


@pytest.mark.parametrize(
    "text, shown",
    [
        ("plain", "plain"),
        ("a **bold", "a **bold**"),
        ("a **bold *and", "a **bold *and***"),
        ("a **bold**", "a **bold**"),
        ("a **", "a"),
        ("a *b* c_d", "a *b* c_d"),
        ("2 * 3", "2 * 3"),
        ("~~gone", "~~gone~~"),
        ("a `code", "a `code`"),
        ("a ``co`de", "a ``co`de``"),
        ("a `", "a "),
        ("a `**` **b", "a `**` **b**"),
        ("see [the pl", "see the pl"),
        ("see [the plan](", "see the plan"),
        ("see [the plan](/pl", "see the plan"),
        ("see [the plan](/plan) now", "see [the plan](/plan) now"),
        ("a ![pic", "a"),
        ("a ![pic](/x", "a"),
        ("six [", "six"),
        ("six [1", "six"),
        ("six [1] and", "six [1] and"),
        (r"rows\[2", r"rows\[2"),
        ("a &am", "a"),
        ("a <htt", "a"),
        ("Hello!", "Hello!"),
        ("", ""),
    ],
)
def test_open_ends_are_closed_or_left_out(text, shown):
    assert close_open_ends(text) == shown
