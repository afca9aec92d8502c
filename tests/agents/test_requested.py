"""Tool calls as a model writes them: put together, bounded, clean."""

import time

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.tools import tool

from ai_answers.agents.requested import MAX_ARGUMENT_CHARS, MAX_CALLS, CallCollector
from ai_answers.agents.tools import LONGEST_QUERY, ToolCall
from ai_answers.chat_models.scripted import Call, Reply, call, say, scripted

from .runs import make_agent, run, text_of_run


def piece(args, *, index=0, id=None, name=None):
    return {"args": args, "index": index, "id": id, "name": name}


def collect(*pieces):
    collector = CallCollector(number=1)
    for one in pieces:
        collector.take(AIMessageChunk(content="", tool_call_chunks=[one]))
    return collector.calls()


def test_pieces_are_put_together_by_their_index():
    first, second = collect(
        piece('{"a"', id="x", name="one"),
        piece('{"b"', index=1, id="y", name="two"),
        piece(": 1}"),
        piece(": 2}", index=1),
    )
    assert (first.id, first.name, first.arguments) == ("x", "one", {"a": 1})
    assert (second.id, second.name, second.arguments) == ("y", "two", {"b": 2})


def test_a_new_id_begins_a_new_call_whatever_its_index():
    first, second = collect(
        piece('{"a": 1}', id="x", name="one"), piece("{", id="y", name="two"), piece('"b": 2}')
    )
    assert (first.arguments, second.arguments) == ({"a": 1}, {"b": 2})


def test_a_name_repeated_with_every_piece_is_one_name():
    [only] = collect(piece("{", id="x", name="one"), piece("}", id="x", name="one"))
    assert (only.name, only.arguments) == ("one", {})


def test_calls_that_came_whole_are_bounded_too():
    collector = CallCollector(number=1)
    whole = {"name": "one", "args": {"a": "x" * 50_000}, "id": "x"}
    collector.take(AIMessage(content="", tool_calls=[whole, {**whole, "args": {}, "id": "y"}]))
    long, short = collector.calls()
    assert long.is_too_long and long.arguments is None
    assert short.arguments == {}


def test_megabytes_of_arguments_are_not_kept_and_cost_little_time():
    chunk = AIMessageChunk(content="", tool_call_chunks=[piece("y" * 100)])
    collector = CallCollector(number=1)
    collector.take(
        AIMessageChunk(content="", tool_call_chunks=[piece('{"a": "', id="x", name="one")])
    )
    begun = time.process_time()
    rest = [collector.take(chunk) for _ in range(20_000)]
    [only] = collector.calls()

    assert time.process_time() - begun < 2
    assert only.is_too_long and only.arguments is None and only.name == "one"
    assert collector.length > 2_000_000
    assert not any(r.tool_call_chunks or r.tool_calls or r.invalid_tool_calls for r in rest)


def test_what_vendors_repeat_elsewhere_goes_with_arguments_that_are_too_long():
    collector = CallCollector(number=1)
    block = {"type": "tool_use", "partial_json": "y" * 20_000, "index": 1}
    chunk = AIMessageChunk(content=[block], tool_call_chunks=[piece("y" * 20_000, id="x")])
    assert collector.take(chunk).content == ""


def test_more_calls_than_anyone_needs_are_dropped():
    calls = collect(*(piece("{}", index=n, id=f"i{n}", name="one") for n in range(5_000)))
    assert len(calls) == MAX_CALLS


@pytest.mark.parametrize("given", ["", "a\nb", "\ud800", "x" * 5_000, "\u202eid"])
def test_an_id_that_cannot_be_sent_back_is_replaced(given):
    [only] = collect(piece("{}", id=given, name="one"))
    assert only.id == "call_1_0"


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        (r'{"q": "a\ud800b"}', {"q": "a\ufffdb"}),
        (r'{"q": "\ud83d\ude00"}', {"q": "\U0001f600"}),
        (r'{"q": ["a\u0000b", {"c\u0001": "d\u001b[1m"}]}', {"q": ["ab", {"c": "d[1m"}]}),
        ('{"q": "one\\n\\ttwo"}', {"q": "one\n\ttwo"}),
        ('{"q": NaN, "r": 1e999, "s": 3}', {"q": None, "r": None, "s": 3}),
        ('{"q": ' + "[" * 40 + "]" * 40 + "}", None),
        ('{"q": ' + "[" * 7_000 + "]" * 7_000 + "}", None),
    ],
)
def test_arguments_are_clean_all_the_way_down(written, arguments):
    [only] = collect(piece(written, id="x", name="one"))
    assert only.arguments == arguments


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("parcel times", "parcel times"),
        ("  two\r\nlines\u2028three \x00\x1b", "two lines three"),
        ("\u202eevil\u202c\u200b\ufeff", "evil"),
        ("lone \ud800 half", "lone half"),
        ("w" * 5_000, "w" * LONGEST_QUERY),
        ("\u200b" * 50 + "seen", "seen"),
        (["no", "text"], ""),
        ("日本語の質問", "日本語の質問"),
    ],
)
def test_the_query_of_a_status_line_is_one_visible_line(query, shown):
    assert ToolCall(id="1", name="search", arguments={"query": query}).query == shown


@tool
async def echo(text: str) -> str:
    """Say it again."""
    return text + "\x00\x1b[31m\ud800!"


@tool(return_direct=True)
async def recite() -> str:
    """Say it."""
    return "one\x00 \ud83d\ude00 \udc00two\x07" + " more" * 5_000


@pytest.mark.django_db
def test_arguments_of_a_megabyte_become_a_message(offer):
    offer(echo)
    huge = Reply(calls=[Call(name="echo", arguments='{"text": "' + "y" * 1_000_000 + '"}')])
    with scripted(huge, say("Sorry.")) as script:
        events = run(make_agent(tools=["echo"]))

    asked, result = script.requests[1].messages[-2:]
    assert str(MAX_ARGUMENT_CHARS) in result.content and "JSON" in result.content
    assert asked.tool_calls[0]["args"] == {}
    assert text_of_run(events) == "Sorry."


@pytest.mark.django_db
def test_arguments_and_messages_of_tools_hold_nothing_that_cannot_be_stored(offer, heard):
    offer(echo)
    dirty = Reply(calls=[Call(name="echo", arguments=r'{"text": "a\u0000b\ud800"}')])
    with scripted(dirty, say("Done.")) as script:
        run(make_agent(tools=["echo"]))

    assert dict(heard)["tool_pre_execute"]["call"].arguments == {"text": "ab\ufffd"}
    assert dict(heard)["tool_finished"]["message"].text == "ab\ufffd[31m\ufffd!"
    assert script.requests[1].messages[-1].content == "ab\ufffd[31m\ufffd!"


@pytest.mark.django_db
def test_an_answer_straight_from_a_tool_is_clean_and_whole(offer, settings):
    """T17."""
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "PROMPT_TOKENS": 400}
    offer(recite)
    with scripted(call("recite")):
        text = text_of_run(run(make_agent(tools=["recite"])))

    assert text == "one \U0001f600 \ufffdtwo" + " more" * 5_000
