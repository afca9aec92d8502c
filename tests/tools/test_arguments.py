"""What a site forces on a tool, and what the model is shown of it (T7)."""

from __future__ import annotations

from typing import Literal

import pytest
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from ai_answers.tools.arguments import applied, offered, problems


@tool
def events(branch: str, kind: Literal["talk", "tour"] = "talk", limit: int = 10) -> str:
    """List events."""
    return f"{branch} {kind} {limit}"


def shown(rules):
    return convert_to_openai_tool(offered(events, rules))["function"]["parameters"]


def test_without_rules_the_tool_is_itself():
    assert offered(events, {}) is events


def test_what_is_forced_or_hidden_is_not_shown():
    parameters = shown({"branch": {"value": "harbour"}, "limit": {"hidden": True}})
    assert list(parameters["properties"]) == ["kind"]
    assert "branch" not in parameters.get("required", [])


def test_what_is_limited_shows_its_choices():
    parameters = shown({"branch": {"choices": ["harbour", "mill"]}})
    assert parameters["properties"]["branch"]["enum"] == ["harbour", "mill"]
    assert parameters["required"] == ["branch"]


def test_the_tool_itself_is_left_as_it_is():
    shown({"branch": {"value": "harbour"}})
    assert "branch" in events.args


def test_forced_values_win_and_hidden_ones_fall_to_the_default():
    rules = {"branch": {"value": "harbour"}, "limit": {"hidden": True}}
    found, problem = applied(rules, {"branch": "vault", "limit": 9999, "kind": "tour"})
    assert found == {"branch": "harbour", "kind": "tour"} and problem == ""
    assert events.invoke(found) == "harbour tour 10"


def test_another_value_than_the_choices_is_told_to_the_model():
    rules = {"branch": {"choices": ["harbour", "mill"]}}
    assert applied(rules, {"branch": "mill"}) == ({"branch": "mill"}, "")
    _, problem = applied(rules, {"branch": "vault"})
    assert problem == "The argument branch must be one of: harbour, mill. Call the tool again."


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ([], "object"),
        ({"room": {"value": 1}}, "branch, kind, limit"),
        ({"branch": "harbour"}, "value, choices, hidden"),
        ({"branch": {}}, "value, choices, hidden"),
        ({"branch": {"values": ["x"]}}, "value, choices, hidden"),
        ({"branch": {"choices": "harbour"}}, "list"),
        ({"branch": {"choices": []}}, "list"),
        ({"branch": {"value": "a", "choices": ["b"]}}, "one of its choices"),
        ({"branch": {"hidden": True}}, "needs a value"),
        ({"limit": {"value": "many"}}, "does not take 'many'"),
        ({"kind": {"value": "dance"}}, "does not take 'dance'"),
    ],
)
def test_rules_that_do_not_fit_say_what_would_be_right(rules, words):
    [problem] = problems(events, rules)
    assert words in problem


def test_rules_that_fit_have_no_problem():
    assert problems(events, {"branch": {"value": "x", "hidden": True}, "limit": {"value": 5}}) == []
