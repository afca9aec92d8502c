"""The record of a run, fed with events and a clock of the test's."""

import json

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from ai_answers.agents.search import SearchOutput
from ai_answers.answers.recording import MOST_FOUND, RunRecord
from ai_answers.events import (
    PromptSent,
    RoundFinished,
    RoundStarted,
    TextDelta,
    ToolDeclined,
    ToolFinished,
    ToolStarted,
)
from ai_answers.values import Chunk, Hit, ObjectKey, Source, Usage

USED = Usage(input_tokens=100, output_tokens=20)


def hit(number):
    chunk = Chunk(
        id=number, key=ObjectKey("site.article", str(number)), language="en", position=0,
        text="Text.", title=f"Page {number}", url="",
    )  # fmt: skip
    return Hit(chunk=chunk, score=1 / (number + 1), score_kind="bm25")


def source(number):
    first = hit(number).chunk
    return Source(
        number=number, key=first.key, title=first.title, url="", language="en", chunks=(first,)
    )


def record(*events, keep_text=False, usage=USED, sources=(), cited=()):
    """Feed ``events``, each a second after the one before."""
    seconds = iter(range(1000))
    made = RunRecord(keep_text=keep_text, clock=lambda: now[0])
    now[0] = 0.0
    for event in events:
        now[0] = float(next(seconds) + 1)
        made.feed(event)
    now[0] += 1
    return made.entry(sources=sources, cited=cited, usage=usage)


now = [0.0]


def test_times_count_from_the_beginning_and_rounds_from_their_call():
    entry = record(
        RoundStarted(number=1),  # 1
        PromptSent(messages=[HumanMessage("Why?")]),  # 2
        TextDelta("Because"),  # 3
        TextDelta(" so."),  # 4
        RoundFinished(usage=USED, finish_reason="stop"),  # 5
    )
    (step,) = entry["steps"]
    assert (step["at"], step["seconds"], step["first_content_seconds"]) == (1, 4, 1)
    assert (entry["first_content_seconds"], entry["total_seconds"]) == (3, 6)
    assert entry["search_seconds"] is None and step["characters"] == 11


def test_prompts_repeat_nothing_that_an_earlier_step_shows():
    system, human = SystemMessage("Be kind."), HumanMessage("Why?")
    asked = AIMessage("", tool_calls=[{"id": "1", "name": "search", "args": {}}])
    entry = record(
        RoundStarted(number=1),
        PromptSent(messages=[system, human]),
        RoundFinished(usage=USED, finish_reason="tool_calls"),
        ToolStarted(name="search", query="", call_id="1", arguments={"query": "x"}),
        ToolFinished(name="search", call_id="1", message="Nothing."),
        RoundStarted(number=2),
        PromptSent(
            messages=[
                SystemMessage("Be brief."),
                human,
                asked,
                ToolMessage("Nothing.", tool_call_id="1"),
            ]
        ),
        RoundFinished(usage=USED, finish_reason="stop"),
        keep_text=True,
    )
    first, tool, second = entry["steps"]
    assert [part["text"] for part in first["prompt"]] == ["Be kind.", "Why?"]
    assert second["prompt"] == [{"role": "system", "text": "Be brief."}]
    assert json.loads(tool["arguments"]) == {"query": "x"} and second["messages"] == 4


def test_a_cut_off_round_gets_the_usage_that_is_left():
    entry = record(
        RoundStarted(number=1),
        PromptSent(messages=[]),
        RoundFinished(usage=USED, finish_reason="tool_calls"),
        RoundStarted(number=2),
        TextDelta("Half"),
        usage=Usage(input_tokens=250, output_tokens=21),
    )
    last = entry["steps"][-1]
    assert last["is_cut_off"] and (last["input_tokens"], last["output_tokens"]) == (150, 1)


def test_a_tool_that_still_ran_is_said_to_be_cut_off():
    entry = record(ToolStarted(name="slow", query="", call_id="1"))
    (step,) = entry["steps"]
    assert (step["failure"], step["seconds"], step["round"]) == ("cut_off", 1, 0)


def test_many_hits_are_counted_and_the_best_are_noted():
    output = SearchOutput(hits=tuple(map(hit, range(MOST_FOUND + 30))), notes=("no vectors",))
    entry = record(
        ToolStarted(name="search", query="", call_id="1"),
        ToolFinished(name="search", call_id="1", output=output, seconds=0.25),
    )
    (step,) = entry["steps"]
    assert len(step["found"]) == MOST_FOUND and step["found_in_all"] == MOST_FOUND + 30
    assert step["found"][0]["title"] == "Page 0" and step["notes"] == ["no vectors"]
    assert entry["search_seconds"] == 0.25


@pytest.mark.parametrize(("keep_text", "name"), [(True, "invented"), (False, "")])
def test_a_name_that_the_model_invented_is_its_words(keep_text, name):
    entry = record(ToolDeclined(name="invented", reason="unknown"), keep_text=keep_text)
    assert (entry["steps"][0]["name"], entry["steps"][0]["is_declined"]) == (name, True)


def test_sources_say_what_they_were_cited_as():
    """S64, S65: the model's numbers, and the reader's."""
    entry = record(sources=map(source, (1, 2, 3)), cited=[3, 1])
    assert [(s["number"], s["index"]) for s in entry["sources"]] == [(1, 2), (2, None), (3, 1)]


def test_an_entry_can_be_stored_whatever_was_said():
    """NUL and lone surrogates go: no database takes them."""
    said = "a\x00b\ud83d"
    entry = record(
        ToolStarted(name="t", query="", call_id="1", arguments={said: [said]}),
        ToolFinished(name="t", call_id="1", message=said),
        RoundStarted(number=1),
        PromptSent(messages=[HumanMessage(said)]),
        RoundFinished(usage=USED, finish_reason=said),
        keep_text=True,
    )
    written = json.dumps(entry["steps"], ensure_ascii=False)
    assert "u0000" not in written and "ud83d" not in written and written.encode()


def test_what_cannot_be_noted_spoils_nothing(caplog):
    """D46: a receiver of ``tool_pre_execute`` may put anything into the arguments."""
    circle = {}
    circle["itself"] = circle
    entry = record(
        ToolStarted(name="t", query="", call_id="1", arguments=circle),
        ToolFinished(name="t", call_id="1", message="Done."),
        keep_text=True,
    )
    (step,) = entry["steps"]
    assert step["message"] == "Done." and "arguments" not in step
    assert "could not be noted" in caplog.text
