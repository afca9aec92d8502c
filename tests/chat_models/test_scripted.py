"""The test double itself: sites rely on it in their own tests."""

import asyncio

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool

from ai_answers.chat_models.scripted import (
    Reply,
    ScriptedChatModel,
    call,
    fail,
    say,
    scripted,
)
from ai_answers.values import Usage


@tool
def hours(day: str) -> str:
    """Tell the hours."""
    return day


async def stream(model, text="Hi"):
    return [chunk async for chunk in model.astream([HumanMessage(text)])]


def test_it_streams_what_it_was_told_word_by_word():
    model = ScriptedChatModel(replies=[say("one two  three", usage=Usage(output_tokens=3))])
    chunks = asyncio.run(stream(model))

    assert [c.content for c in chunks if c.content] == ["one ", "two ", " ", "three"]
    assert chunks[-1].usage_metadata["output_tokens"] == 3
    assert chunks[-1].response_metadata["finish_reason"] == "stop"


def test_all_ways_to_call_a_model_work():
    model = ScriptedChatModel(replies=[say("a b"), say("c d"), say("e f"), call("hours", day="Mo")])

    assert model.invoke("Hi").content == "a b"
    assert asyncio.run(model.ainvoke("Hi")).content == "c d"
    assert "".join(chunk.content for chunk in model.stream("Hi")) == "e f"
    assert model.bind_tools([hours]).invoke("Hi").tool_calls[0]["args"] == {"day": "Mo"}


def test_it_keeps_what_it_was_asked():
    model = ScriptedChatModel(replies=[say("a")], temperature=0.3)
    messages = [SystemMessage("Rules."), HumanMessage("Hi")]
    model.bind_tools([hours]).invoke(messages)

    [request] = model.requests
    assert request.system_prompt == "Rules."
    assert request.messages[-1].content == "Hi"
    assert request.tools[0]["function"]["name"] == "hours"
    assert request.options["temperature"] == 0.3


def test_a_script_is_followed_by_name_and_ends_with_its_block():
    model = ScriptedChatModel()
    with scripted(say("outer"), say("outer again")):
        assert model.invoke("Hi").content == "outer"
        with scripted(say("inner")):
            assert model.invoke("Hi").content == "inner"
        with scripted(say("other"), name="other"):
            assert ScriptedChatModel(script="other").invoke("Hi").content == "other"
        assert model.invoke("Hi").content == "outer again"
    with pytest.raises(AssertionError, match="scripted"):
        model.invoke("Hi")


def test_a_script_that_is_too_short_says_so():
    with scripted(say("a")), pytest.raises(AssertionError, match="call 2"):
        ScriptedChatModel().invoke("Hi")
        ScriptedChatModel().invoke("Hi")


def test_a_callable_answers_from_the_messages_as_often_as_asked():
    with scripted(lambda messages: say(messages[-1].content.upper())) as script:
        assert ScriptedChatModel().invoke("a").content == "A"
        assert ScriptedChatModel().invoke("b").content == "B"
    assert len(script.requests) == 2


def test_errors_come_before_or_after_the_deltas():
    with pytest.raises(ValueError, match="now"):
        ScriptedChatModel(replies=[fail(ValueError("now"))]).invoke("Hi")

    seen = []

    async def read(model):
        async for chunk in model.astream("Hi"):
            seen.append(chunk.content)

    broken = Reply(deltas=["half"], error=ValueError("later"))
    with pytest.raises(ValueError, match="later"):
        asyncio.run(read(ScriptedChatModel(replies=[broken])))
    assert "half" in seen
