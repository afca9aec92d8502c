"""What a site forces on a tool, and what the model is shown of it (T7)."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from langchain_core.tools import InjectedToolArg, StructuredTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from ai_answers.tools.arguments import applied, described, kept, offered, problems


@tool
def events(
    branch: str,
    kind: Literal["talk", "tour"] = "talk",
    limit: Annotated[int, Field(le=50)] = 10,
    reader: Annotated[str, InjectedToolArg] = "nobody",
) -> str:
    """List events."""
    return f"{branch} {kind} {limit} {reader}"


SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": ["integer", "null"]},
        "unit": {"enum": ["C", "F"]},
    },
    "required": ["city"],
}
weather = StructuredTool.from_function(
    func=lambda **given: str(given), name="weather", description="Tell.", args_schema=SCHEMA
)
"""As tools from elsewhere come: with a plain JSON schema."""


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
    written = kept(
        offered(events, rules), {"branch": "vault", "limit": 9999, "kind": "tour", "reader": "me"}
    )
    found, problem = applied(events, rules, written)
    assert found == {"branch": "harbour", "kind": "tour"} and problem == ""
    assert events.invoke(found) == "harbour tour 10 nobody"


def test_what_the_model_was_not_shown_it_cannot_set():
    """Neither what it invents, nor what only the site may fill in."""
    assert kept(events, {"branch": "mill", "reader": "admin", "sql": "x"}) == {"branch": "mill"}
    assert kept(weather, {"city": "Oslo", "sql": "x"}) == {"city": "Oslo"}


@pytest.mark.parametrize("schema", [{"type": "object"}, SCHEMA | {"additionalProperties": True}])
def test_a_tool_that_takes_anything_gets_it(schema):
    tool = weather.model_copy(update={"args_schema": schema})
    assert kept(tool, {"city": "Oslo", "more": 1}) == {"city": "Oslo", "more": 1}


def test_another_value_than_the_choices_is_told_to_the_model():
    rules = {"branch": {"choices": ["harbour", "mill"]}}
    assert applied(events, rules, {"branch": "mill"}) == ({"branch": "mill"}, "")
    _, problem = applied(events, rules, {"branch": "vault"})
    assert problem == "The argument branch must be one of: harbour, mill. Call the tool again."


def test_leaving_an_argument_out_is_no_way_round_its_choices():
    rules = {"kind": {"choices": ["tour"]}, "limit": {"choices": [5, 10]}}
    parameters = shown(rules)
    assert parameters["required"] == ["branch", "kind"]
    assert "default" not in parameters["properties"]["kind"]
    assert parameters["properties"]["limit"]["default"] == 10
    _, problem = applied(events, rules, {"branch": "mill"})
    assert problem == "The argument kind must be one of: tour. Call the tool again."
    assert applied(events, rules, {"branch": "mill", "kind": "tour"})[1] == ""
    assert "must be one of" in applied(weather, {"days": {"choices": [1, None]}}, {})[1]


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
        ({"branch": {"hidden": True}}, "it needs a value"),
        ({"limit": {"hidden": "no"}}, "true or false"),
        ({"limit": {"value": "many"}}, "does not take 'many'"),
        ({"limit": {"value": 51}}, "does not take 51"),
        ({"limit": {"choices": [5, 51]}}, "does not take 51"),
        ({"reader": {"value": "me"}}, "branch, kind, limit."),
        ({"kind": {"value": "dance"}}, "does not take 'dance'"),
    ],
)
def test_rules_that_do_not_fit_say_what_would_be_right(rules, words):
    [problem] = problems(events, rules)
    assert words in problem


def test_rules_that_fit_have_no_problem():
    assert problems(events, {"branch": {"value": "x", "hidden": True}, "limit": {"value": 5}}) == []


@pytest.mark.parametrize(
    ("name", "value", "is_taken"),
    [("city", "Oslo", True), ("city", 7, False), ("days", 3, True), ("days", None, True),
     ("days", True, False), ("days", "3", False), ("unit", "C", True), ("unit", "K", False)],
)  # fmt: skip
def test_a_plain_schema_is_asked_as_well(name, value, is_taken):
    found = problems(weather, {name: {"value": value}})
    assert found == ([] if is_taken else [f"“weather” does not take {value!r} for “{name}”."])


def test_editors_are_told_what_there_is():
    assert described(events) == "branch (string, required), kind (talk | tour), limit (integer)"
    assert described(weather) == "city (string, required), days (integer | null), unit (C | F)"
