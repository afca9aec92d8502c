"""How a turn ends: the six outcomes, each streamed and as one JSON answer (S31-S33, G17)."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import connections

from ai_answers.answers.turns import interrupt
from ai_answers.chat_models.scripted import Reply, fail, say, scripted
from ai_answers.exceptions import ModelFailed
from ai_answers.models import Agent, Run, Turn
from tests.api.conftest import Api
from tests.content import make_agent, make_pages
from tests.sse import frames_of

pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = "When do parcels leave?"
NOTHING = "Xyzzy qwv?"
"""A question whose search finds nothing."""
MESSAGE = "Nothing on our pages, sorry."
both_paths = pytest.mark.parametrize("stream", [True, False], ids=["stream", "json"])
both_formats = pytest.mark.parametrize("format", ["markdown", "html"])


@pytest.fixture
def visitor():
    make_pages()
    make_agent(no_answer_message=MESSAGE)
    return Api()


def end_of(response, *, stream):
    """Return what the visitor is left with: kind of end, text, references, outcome."""
    if stream:
        last = frames_of(response)[-1]
        data = last.data
        if last.kind == "error":
            return "error", data["code"], [], data["outcome"]
        return last.kind, data["text"], data["references"], data["outcome"]
    body = response.json()
    if "error" in body:
        assert response.status_code == 500
        return "error", body["error"]["code"], [], Turn.objects.get().outcome
    answer = body["answer"]
    return "json", answer["text"], answer["references"], body["outcome"]


def ask_and(visitor, act, *, stream):
    """Ask, let ``act(run)`` happen once the model has written, and return the end."""
    ends = []

    def read():
        try:
            ends.append(end_of(visitor.ask(QUESTION, stream=stream), stream=stream))
        finally:
            connections.close_all()

    reader = threading.Thread(target=read)
    with scripted(Reply(deltas=["On Friday ", "[1]. ", "And [", "2"], hang_seconds=30)) as script:
        reader.start()
        deadline = time.monotonic() + 20
        while not script.requests and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.4)
        act(Run.objects.get())
        reader.join(20)
    return ends[0]


@both_paths
def test_answered(visitor, stream):
    """S64-S66: text, and what it cites."""
    with scripted(say("On Friday at six [1].")):
        end = end_of(visitor.ask(QUESTION, stream=stream), stream=stream)
    kind, text, (reference,), outcome = end
    assert (kind, outcome) == ("done" if stream else "json", "answered")
    assert text == "On Friday at six[1]." and reference["index"] == 1
    turn = Turn.objects.get()
    assert (turn.outcome, turn.answer) == ("answered", text) and len(turn.references) == 1


@both_formats
@both_paths
@pytest.mark.parametrize(
    "written", ["", " \n", "[1]", "[1][2]", "**[1]**", "- [1]\n- [2]", "[19]", "Sources:\n- [1] x"]
)
def test_no_answer_when_nothing_was_said(visitor, written, stream, format):
    """S31 (b), S32, G17: blanks, markers alone, invalid ones, a list of sources."""
    with scripted(say(written)):
        response = visitor.ask(QUESTION, stream=stream, format=format)
        end = end_of(response, stream=stream)
    assert end == ("done" if stream else "json", MESSAGE, [], "no_answer")
    turn = Turn.objects.get()
    assert (turn.answer, turn.references, turn.outcome) == (MESSAGE, [], "no_answer")
    shown = "".join(Run.objects.get().parts)
    assert (MESSAGE in shown) == (format == "html") and "data-ref-index" not in shown


@both_paths
def test_no_answer_when_nothing_was_found(visitor, stream):
    """S31 (a), S33: JSON gets the site's message; what was read already stays, its marker goes."""
    with scripted(say("Our pages say nothing about it [1].")):
        end = end_of(visitor.ask(NOTHING, stream=stream), stream=stream)
    text = "Our pages say nothing about it." if stream else MESSAGE
    assert end == ("done" if stream else "json", text, [], "no_answer")
    assert Turn.objects.get().outcome == "no_answer" and not Turn.objects.get().references


@both_paths
def test_the_message_without_one_of_the_agents_own(visitor, stream):
    """D6: one short sentence, in the language that was asked for."""
    Agent.objects.update(no_answer_message="")
    with scripted(say("")):
        response = visitor.ask(NOTHING, stream=stream, language="de")
        _, text, references, outcome = end_of(response, stream=stream)
    assert outcome == "no_answer" and references == []
    assert "gefunden" in text


@both_paths
def test_refused(visitor, stream):
    """The provider's filter; what was written before is kept, no message takes its place."""
    reply = Reply(deltas=["On Friday ", "[1]. "], finish_reason="content_filter")
    with scripted(reply):
        end = end_of(visitor.ask(QUESTION, stream=stream), stream=stream)
    assert end == ("error", "content_filter", [], "refused")
    turn = Turn.objects.get()
    assert turn.outcome == "refused" and MESSAGE not in turn.answer
    assert turn.answer.strip() == "On Friday[1]."


@both_paths
def test_stopped(visitor, stream):
    """G09: what was written is kept with its references, never the no-answer message."""
    end = ask_and(visitor, lambda run: visitor.post(f"runs/{run.pk}/stop", {}), stream=stream)
    kind, text, references, outcome = end
    assert (kind, outcome) == ("stopped" if stream else "json", "stopped")
    assert text.strip() == "On Friday[1]. And" and [r["index"] for r in references] == [1]
    assert Turn.objects.get().outcome == "stopped"


@both_paths
def test_stopped_before_anything_was_written(visitor, stream):
    """S31: only an answer can be no answer."""
    ends = []

    def read():
        try:
            ends.append(end_of(visitor.ask(QUESTION, stream=stream), stream=stream))
        finally:
            connections.close_all()

    with scripted(say("Never.", first_delay_seconds=30)) as script:
        reader = threading.Thread(target=read)
        reader.start()
        deadline = time.monotonic() + 20
        while not script.requests and time.monotonic() < deadline:
            time.sleep(0.02)
        visitor.post(f"runs/{Run.objects.get().pk}/stop", {})
        reader.join(20)
    assert ends == [("stopped" if stream else "json", "", [], "stopped")]


@both_paths
@pytest.mark.parametrize("before", [[], ["On Friday ", "[1]. "]], ids=["at once", "midway"])
def test_failed(visitor, stream, before):
    """S12: an error, and no message that says there was nothing to find."""
    reply = Reply(deltas=before, error=ModelFailed("planned")) if before else None
    with scripted(reply or fail(ModelFailed("planned"))):
        kind, _, _, outcome = end_of(visitor.ask(QUESTION, stream=stream), stream=stream)
    assert (kind, outcome) == ("error", "failed")
    turn = Turn.objects.get()
    assert turn.outcome == "failed" and MESSAGE not in turn.answer
    assert [r["index"] for r in turn.references] == ([1] if before else [])


@both_paths
def test_interrupted(visitor, stream):
    """The process was taken for dead: what it had saved is kept."""
    kind, code, _, outcome = ask_and(visitor, interrupt, stream=stream)
    assert (kind, code, outcome) == ("error", "interrupted", "interrupted")
    turn = Turn.objects.get()
    assert turn.outcome == "interrupted" and MESSAGE not in turn.answer


@both_formats
@both_paths
@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("I could not find this [1][2].", "I could not find this."),
        (
            "The sources do not say so [1]. Ask the office.",
            "The sources do not say so. Ask the office.",
        ),
        (
            "Die Quellen enthalten keine Angaben dazu [1].",
            "Die Quellen enthalten keine Angaben dazu.",
        ),
    ],
)
def test_no_answer_when_the_model_says_so_and_cites_anyway(visitor, written, left, stream, format):
    """G18, D47: its words stay, on both paths, and nothing is offered as their support."""
    with scripted(say(written)):
        end = end_of(visitor.ask(QUESTION, stream=stream, format=format), stream=stream)
    assert end == ("done" if stream else "json", left, [], "no_answer")
    turn, run = Turn.objects.get(), Run.objects.get()
    assert (turn.answer, turn.references, turn.outcome) == (left, [], "no_answer")
    shown = "".join(run.parts)
    assert (left in shown) == (format == "html") and "data-ref-index" not in shown


def test_readers_of_a_no_answer_are_told_that_its_citations_are_gone(visitor):
    """G18, S68: what they have read adds up to the final text."""
    for format in ("markdown", "html"):
        with scripted(say("I could not find this [1].", hang_seconds=0.3)):
            frames = frames_of(visitor.ask(QUESTION, stream=True, format=format))
        last = next(frame for frame in reversed(frames) if frame.kind == "snapshot")
        assert all("index" not in reference for reference in last.data["references"])
        if format == "markdown":
            assert last.data["text"] == frames[-1].data["text"] == "I could not find this."
        else:
            assert "".join(last.data["parts"]).strip() == "<p>I could not find this.</p>"


@both_paths
@pytest.mark.parametrize(
    "written",
    [
        "The sources do not mention Sunday. On weekdays the gate opens at five [1].",
        "I could not find Sunday times, but the gate opens at five [1].",
        "The gate opens at five [1]. I could not find when it closes.",
        "Parcels do not contain liquids [1].",
    ],
)
def test_an_answer_to_a_part_of_the_question_is_an_answer(visitor, written, stream):
    """D47, G18: with its sources."""
    with scripted(say(written)):
        end = end_of(visitor.ask(QUESTION, stream=stream), stream=stream)
    assert end[3] == "answered" and [r["index"] for r in end[2]] == [1]
