"""What a site forces, limits and hides of a tool's arguments, seen from the model (T7)."""

from __future__ import annotations

from typing import Annotated

import pytest
from langchain_core.tools import InjectedToolArg, tool
from pydantic import Field

from ai_answers import signals
from ai_answers.chat_models.scripted import call, say, scripted

from .runs import make_agent, run

pytestmark = pytest.mark.django_db


@pytest.fixture
def berths(offer):
    """A tool that tells what it was called with."""
    called = []

    @tool
    def berths(
        harbour: str,
        length: Annotated[int, Field(le=40)] = 10,
        reader: Annotated[str, InjectedToolArg] = "nobody",
    ) -> str:
        """Find free berths."""
        called.append((harbour, length, reader))
        return "Berth 7 is free."

    offer(berths)
    return called


def ask(rules, *replies):
    agent = make_agent(tools=[{"tool": "berths", "arguments": rules}])
    with scripted(*replies, say("Fine.")) as script:
        run(agent)
    return script


def offered(script):
    [definition] = script.requests[0].tools
    return definition["function"]["parameters"]


def result(script):
    return str(script.requests[-1].messages[-1].content)


def test_a_forced_argument_is_neither_shown_nor_taken_from_the_model(berths):
    script = ask({"harbour": {"value": "East"}}, call("berths", harbour="West", length=12))
    assert list(offered(script)["properties"]) == ["length"]
    assert offered(script).get("required", []) == []
    assert berths == [("East", 12, "nobody")]
    assert "East" not in str(offered(script)) and result(script) == "Berth 7 is free."


def test_a_limited_argument_shows_its_choices_and_takes_no_other(berths):
    script = ask(
        {"harbour": {"choices": ["East", "South"]}},
        call("berths", harbour="West"),
        call("berths", harbour="South"),
    )
    assert offered(script)["properties"]["harbour"]["enum"] == ["East", "South"]
    told = str(script.requests[1].messages[-1].content)
    assert told == "The argument harbour must be one of: East, South. Call the tool again."
    assert berths == [("South", 10, "nobody")]


def test_a_hidden_argument_keeps_its_default_whatever_the_model_writes(berths):
    script = ask({"length": {"hidden": True}}, call("berths", harbour="East", length=40))
    assert list(offered(script)["properties"]) == ["harbour"]
    assert berths == [("East", 10, "nobody")]


def test_what_the_model_invents_is_dropped(berths):
    """Also an argument that is the site's to fill in, such as who is reading."""
    ask({}, call("berths", harbour="East", reader="harbour master", sql="DROP"))
    assert berths == [("East", 10, "nobody")]


def test_calls_that_differ_in_what_is_dropped_are_one_call(berths):
    ask({}, call("berths", harbour="East", x=1), call("berths", harbour="East", x=2))
    assert len(berths) == 1


def test_a_receiver_of_the_site_may_fill_in_what_the_model_cannot(berths, listen):
    """``tool_pre_execute`` comes behind the model, and before what is forced."""

    @signals.light
    def fill_in(sender, call, **named):
        call.arguments |= {"reader": "Ada", "length": 20, "harbour": "West"}

    listen(signals.tool_pre_execute, fill_in)
    ask(
        {"length": {"hidden": True}, "harbour": {"value": "East"}},
        call("berths", reader="harbour master"),
    )
    assert berths == [("East", 20, "Ada")]


def test_a_message_on_wrong_arguments_does_not_name_a_hidden_one(berths, listen):
    @signals.light
    def break_it(sender, call, **named):
        call.arguments["length"] = "long"

    listen(signals.tool_pre_execute, break_it)
    script = ask({"length": {"hidden": True}}, call("berths", harbour="East"))
    assert berths == []
    assert "length" not in result(script) and "Call the tool again" in result(script)


@pytest.mark.parametrize(
    "rules",
    [{"port": {"value": "East"}}, {"length": {"value": 41}}, {"harbour": "East"}, ["harbour"]],
    ids=["renamed", "refused", "no rule", "no object"],
)
def test_a_tool_whose_rules_no_longer_fit_is_not_offered(berths, caplog, rules):
    """Without its limits it would do what the site does not allow."""
    script = ask(rules, call("berths", harbour="West"))
    assert script.requests[0].tools == [] and berths == []
    assert "There is no tool of this name" in result(script)
    assert "Tool 'berths' of agent helper cannot be used" in caplog.text
