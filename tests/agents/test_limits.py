"""Prompts keep to their bound: cut tool messages, dropped history, or a clear end."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from ai_answers import signals
from ai_answers.agents.limits import (
    CUT,
    INSTRUCTION_TOKENS,
    cut,
    fit,
    message_tokens,
    output_bound,
    prompt_bound,
    schema_tokens,
    tool_message_bound,
)
from ai_answers.chat_models.scripted import Reply, call, say, scripted
from ai_answers.exceptions import ModelFailed
from ai_answers.sources.block import parse_sources, render_sources
from ai_answers.tokens import count_tokens
from ai_answers.values import Chunk, ObjectKey, Source, Usage

from .runs import make_agent, run, text_of_run

BOUNDARY = "0" * 32


@pytest.fixture
def prompt_tokens(settings):
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "PROMPT_TOKENS": 2_000, "MAX_ROUNDS": 12}


@tool
async def archive(page: int) -> str:
    """Read the archive."""
    return f"Page {page}.\n" + "A line of the archive.\n" * 100_000


def size(request):
    return sum(map(message_tokens, request.messages)) + sum(
        count_tokens(str(t)) for t in request.tools
    )


@pytest.mark.parametrize("line", ["plain words\n", "書" * 40 + "\n", "x" * 300, "é\u4e00\n"])
def test_a_cut_text_keeps_to_its_tokens_and_says_so(line):
    short = cut(line * 2_000, tokens=200, boundary=BOUNDARY)
    assert count_tokens(short) <= 200
    assert short.endswith(CUT) and short.startswith(line[:10].strip())
    assert cut("As it is.", tokens=200, boundary=BOUNDARY) == "As it is."


def test_a_text_is_cut_at_the_end_of_a_line():
    short = cut("one whole line\n" * 500, tokens=100, boundary="")
    assert set(short.splitlines()[:-1]) == {"one whole line"}


def test_no_room_at_all_leaves_the_note():
    assert cut("words " * 500, tokens=0, boundary="") == CUT


def test_sources_that_are_cut_open_are_closed_again():
    sources = [
        Source(
            number=number,
            key=ObjectKey("a.b", str(number)),
            title=f"Page {number}",
            url="",
            language="en",
            chunks=(
                Chunk(
                    id=None,
                    key=ObjectKey("a.b", str(number)),
                    language="en",
                    position=0,
                    text="Some fact. " * 100,
                    title="",
                    url="",
                ),
            ),
        )
        for number in (1, 2, 3)
    ]
    whole = render_sources(sources, boundary=BOUNDARY)
    for tokens in range(80, count_tokens(whole), 50):
        short = cut(whole, tokens=tokens, boundary=BOUNDARY)
        assert count_tokens(short) <= tokens
        assert short.count("<sources-") == short.count("</sources-") == 1
        assert short.count("<source-") == short.count("</source-")
        numbers = [found.number for found in parse_sources(short)]
        assert numbers == [1, 2, 3][: len(numbers)]


def test_old_history_goes_before_tool_messages_are_cut(settings):
    history = [
        HumanMessage("x" * 4_000),
        AIMessage("y" * 4_000),
        HumanMessage("And?"),
        AIMessage("So."),
    ]
    turn = [HumanMessage("Why?")]
    room = prompt_bound() - sum(map(message_tokens, turn)) - 1_100

    sent = fit(
        system=[SystemMessage("s")], history=history, turn=turn, fixed_tokens=room, boundary=""
    )

    # An answer whose question is gone goes with it: providers want a question first.
    assert [m.content for m in sent] == ["s", "And?", "So.", "Why?"]


def test_the_oldest_tool_message_is_cut_first(prompt_tokens):
    results = [ToolMessage("r" * 16_000, tool_call_id=str(n)) for n in range(3)]
    turn = [HumanMessage("Why?"), *results]
    sent = fit(system=[], history=[HumanMessage("Hm")], turn=turn, fixed_tokens=0, boundary="")

    assert sum(map(message_tokens, sent)) <= prompt_bound() == 2_000 + INSTRUCTION_TOKENS
    assert [len(m.content) == 16_000 for m in sent[1:]] == [False, True, True]
    assert sent[1].content.endswith(CUT) and len(sent[1].content) > 4_000
    assert results[0].content == "r" * 16_000


@pytest.mark.django_db
def test_a_tool_that_returns_megabytes_is_sent_cut_in_every_round(offer, prompt_tokens):
    offer(archive)
    replies = [call("archive", page=page) for page in range(11)]
    with scripted(*replies, say("Nothing in it.")) as script:
        events = run(make_agent(tools=["archive"], instructions="You help."))

    assert text_of_run(events) == "Nothing in it."
    assert len(script.requests) == 12
    assert all(size(request) <= prompt_bound() for request in script.requests)
    [first] = [m for m in script.requests[1].messages if m.type == "tool"]
    assert count_tokens(first.content) <= tool_message_bound() == 500
    assert first.content.startswith("Page 0.\nA line")
    assert first.content.endswith(CUT)
    results = [m.content for m in script.requests[-1].messages if m.type == "tool"]
    assert len(results) == 11 and results[-1].startswith("Page 10.")


@pytest.mark.django_db
def test_a_receiver_cannot_make_a_tool_message_longer_than_that(offer, listen, prompt_tokens):
    @tool
    async def hours() -> str:
        """Tell the hours."""
        return "From nine."

    @signals.light
    def add(sender, message, **named):
        message.text += "\nmore" * 100_000

    offer(hours)
    listen(signals.tool_finished, add)
    with scripted(call("hours"), say("From nine.")) as script:
        run(make_agent(tools=["hours"]))

    message = script.requests[1].messages[-1].content
    assert message.startswith("From nine.\nmore") and count_tokens(message) <= 500


@pytest.mark.django_db
def test_long_history_is_dropped_so_that_the_prompt_fits(prompt_tokens):
    history = [kind("words " * 2_000) for _ in range(10) for kind in (HumanMessage, AIMessage)]
    with scripted(say("Fine.")) as script:
        run(make_agent(), "And now?", history=history)

    sent = [m for m in script.requests[0].messages if m.type != "system"]
    assert [m.type for m in sent] == ["human", "ai", "human"]
    assert sent[-1].content == "And now?"


@pytest.mark.django_db
def test_instructions_beyond_all_bounds_end_the_run_before_the_model_is_asked(prompt_tokens, heard):
    with scripted(say("Never.")) as script, pytest.raises(ModelFailed) as caught:
        run(make_agent(instructions="word " * 20_000))

    assert caught.value.code == "context_overflow"
    assert not caught.value.retryable
    assert script.requests == []
    assert heard[-1][1]["usage"] == Usage()


@pytest.mark.django_db
def test_tool_schemas_count(offer, prompt_tokens):
    archive_tool = archive.model_copy(update={"description": "word " * 12_000})
    offer(archive_tool)
    assert schema_tokens([archive_tool]) > prompt_bound()
    with scripted(say("Never.")), pytest.raises(ModelFailed) as caught:
        run(make_agent(tools=["archive"]))
    assert caught.value.code == "context_overflow"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("reported", "kept"),
    [
        ({"input_tokens": 10**30, "output_tokens": 10**30}, None),
        ({"input_tokens": -5, "output_tokens": -(10**30)}, Usage()),
        ({"input_tokens": 7, "output_tokens": 3}, Usage(input_tokens=7, output_tokens=3)),
    ],
)
def test_absurd_usage_is_brought_back_to_what_is_possible(reported, kept, heard):
    agent = make_agent()
    with scripted(Reply(deltas=["Hi."], usage=Usage(**reported))):
        run(agent)

    most = prompt_bound() + output_bound(agent)
    expected = kept or Usage(input_tokens=most, output_tokens=most)
    assert heard[-1][1]["usage"] == expected
