"""One readable entry a run: how it went always, what was said where the site allows it."""

import json

import pytest
from django.core import serializers
from django.db import DatabaseError
from django.db.models.signals import pre_save

from ai_answers.answers.turns import interrupt
from ai_answers.chat_models.scripted import Call, Reply, call, fail, say, scripted
from ai_answers.models import AgentTool, Run, RunLog, Turn
from ai_answers.signals import tool_pre_execute
from ai_answers.values import Usage

from ..site.models import Article
from .conftest import elsewhere

QUESTION = "When do parcels leave, asks Zebulon?"
ANSWER = "They leave on Friday at six [1]."


@pytest.fixture
def texts(settings):
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"LOG_TEXT": True}


def ask(who, *replies, **fields):
    with scripted(*replies):
        return who.ask(QUESTION, **fields)


def steps(entry, kind):
    return [step for step in entry.steps if step["kind"] == kind]


def test_an_entry_tells_rounds_tools_sources_scores_and_times(visitor):
    """S69, S94: answers "why did it say that?"."""
    used = Usage(input_tokens=70, output_tokens=9)
    asks = Reply(calls=[Call(name="search", arguments='{"query": "parcel cost"}')], usage=used)
    body = ask(visitor, asks, say("It costs four euros [2].", usage=used)).json()
    entry = RunLog.objects.get()
    turn = Turn.objects.get()

    assert str(entry.run_id) == body["run"] and turn.log_id == str(entry.pk)
    assert (entry.outcome, entry.error_code, entry.error) == ("answered", "", "")
    assert entry.chat_model == "scripted" and entry.history == 0
    assert (entry.input_tokens, entry.output_tokens) == (140, 18)
    assert 0 <= entry.search_seconds <= entry.total_seconds
    assert 0 < entry.first_content_seconds <= entry.total_seconds
    assert [s["kind"] for s in entry.steps] == ["tool", "round", "tool", "round"]
    forced, chosen = steps(entry, "tool")
    assert (forced["name"], forced["round"], chosen["round"]) == ("search", 0, 1)
    assert [row["entity_id"] for row in forced["found"] if row["fate"] == "hit"]
    best = forced["found"][0]
    assert best["title"] == "Depot times" and best["scores"]["bm25"] == best["score"] > 0
    assert {row["fate"] for row in chosen["found"]} >= {"hit"}
    first, last = steps(entry, "round")
    assert (first["finish_reason"], first["input_tokens"]) == ("tool_calls", 70)
    assert (last["number"], last["finish_reason"], last["output_tokens"]) == (2, "stop", 9)
    assert last["characters"] == len("It costs four euros [2].")
    cited = [s for s in entry.sources if s["index"]]
    (reference,) = body["answer"]["references"]
    assert [(s["number"], s["index"], s["title"]) for s in cited] == [(2, 1, reference["label"])]
    assert [s["number"] for s in entry.sources] == list(range(1, len(entry.sources) + 1))
    assert not any(s["is_held"] for s in entry.sources)


def test_without_the_setting_nobodys_words_are_in_it(visitor):
    """``LOG_TEXT`` off, the default: neither question nor query, prompt, answer or tool name."""
    replies = [
        call("search", query="quokka wishes"),
        call("tell_quokka", note="quokka"),
        say("Quokka says six [1]."),
    ]
    ask(visitor, *replies)
    entry = RunLog.objects.get()
    written = serializers.serialize("json", [entry]).lower()
    assert entry.has_text is False and "depot times" in written
    assert "quokka" not in written and "zebulon" not in written and "parcels leave" not in written
    assert [s["failure"] for s in steps(entry, "tool")] == ["", "", "unknown"]


def test_with_the_setting_prompts_tool_calls_and_the_models_words_are_in_it(visitor, texts):
    ask(visitor, call("search", query="quokka"), say("Six, I think [1] [9]."))
    entry = RunLog.objects.get()
    first, last = steps(entry, "round")
    assert [part["role"] for part in first["prompt"]] == ["system", "human"]
    assert first["prompt"][1]["text"] == QUESTION
    assert "Parcels leave the depot on Friday" in first["prompt"][0]["text"]
    assert last["prompt"] == [], "what an earlier step shows is not repeated"
    assert last["text"] == "Six, I think [1] [9]."  # as the model wrote it, not as it was shown
    forced, chosen = steps(entry, "tool")
    assert json.loads(forced["arguments"]) == {"query": QUESTION}
    assert json.loads(chosen["arguments"]) == {"query": "quokka"}
    assert "No sources were found" in chosen["message"] or "found nothing" in chosen["message"]
    assert entry.has_text and Turn.objects.get().invalid_citations == 1


def test_what_is_masked_is_masked_in_the_log(visitor, settings, texts):
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"MASK": lambda text: text.replace("Zebulon", "…")}
    ask(visitor, say(ANSWER))
    assert "Zebulon" not in serializers.serialize("json", RunLog.objects.all())


def test_a_call_that_is_asked_for_again_is_said_to_be_a_repetition(visitor):
    ask(visitor, call("search", query="fees"), call("search", query="fees"), say(ANSWER))
    last = steps(RunLog.objects.get(), "tool")[-1]
    assert (last["name"], last["failure"], last["is_declined"]) == ("search", "repeated", True)


def test_a_follow_up_says_which_sources_were_held(visitor):
    """S28: the answer's sources are the last turn's, and the log says so."""
    first = ask(visitor, say(ANSWER)).json()
    ask(visitor, say("At six [1]."), conversation_id=first["conversation_id"])
    entry = RunLog.objects.order_by("created_at").last()
    assert entry.history == 1 and entry.search_seconds is None
    assert steps(entry, "tool") == []
    assert [(s["title"], s["index"]) for s in entry.sources if s["is_held"]][0] == (
        "Depot times",
        1,
    )


def test_what_the_asker_may_not_see_is_noted_as_closed(visitor):
    """Not for him: it tells those who run the site why something was not cited."""
    Article.objects.filter(title="Depot times").update(audience="staff")  # the index lags behind
    ask(visitor, say("I do not know."))
    (tool,) = steps(RunLog.objects.get(), "tool")
    fates = {row["title"]: row["fate"] for row in tool["found"]}
    assert fates["Depot times"] == "closed" and "Depot times" not in str(Turn.objects.get().sources)


def test_a_failed_run_says_where_it_failed_without_the_message(visitor):
    """D28: a provider's message may quote the question or a key."""
    assert ask(visitor, fail(ValueError("secret sk-123 Zebulon"))).status_code == 500
    entry = RunLog.objects.get()
    assert (entry.outcome, entry.error_code) == ("failed", "model_failed")
    assert "ModelFailed" in entry.error and "loop.py" in entry.error
    assert "sk-123" not in entry.error and "Zebulon" not in entry.error
    (cut,) = steps(entry, "round")
    assert cut["is_cut_off"] is True and entry.first_content_seconds is None


def test_a_search_that_fails_says_so(visitor):
    """T4: the model is told politely, the log by name."""
    AgentTool.objects.update(index="nowhere")
    ask(visitor, say("I could not look it up."))
    (tool,) = steps(RunLog.objects.get(), "tool")
    assert tool["notes"] == ["the search failed: ConfigurationError"] == Run.objects.get().notes


def test_a_tool_call_that_a_receiver_forbade_says_so(visitor):
    def forbid(sender, call, **kwargs):
        raise LookupError("Zebulon")

    tool_pre_execute.connect(forbid)
    try:
        ask(visitor, say("I could not look it up."))
    finally:
        tool_pre_execute.disconnect(forbid)
    (tool,) = steps(RunLog.objects.get(), "tool")
    assert tool["failure"] == "tool_pre_execute: LookupError" and tool["found"] == []


def test_a_stopped_run_keeps_what_went_on(visitor, texts):
    reply = Reply(deltas=["On Friday ", "[1]. ", "And "], hang_seconds=30)
    with scripted(reply):
        response = visitor.ask(QUESTION, stream=True)
        stream, seen = iter(response.streaming_content), b""
        while b"event: token" not in seen:
            seen += next(stream)
        visitor.post(f"runs/{Run.objects.get().pk}/stop", {})
        b"".join(stream)
    entry = RunLog.objects.get()
    (cut,) = steps(entry, "round")
    assert entry.outcome == "stopped" and cut["is_cut_off"] is True
    assert cut["text"].startswith("On Friday [1].")
    assert cut["input_tokens"] == entry.input_tokens > 0


def test_a_run_whose_process_died_has_an_entry_too(visitor):
    """Without steps: they were in the process."""
    with scripted(Reply(deltas=["On Friday [1]. "], hang_seconds=30)):
        response = visitor.ask(QUESTION, stream=True)
        stream, seen = iter(response.streaming_content), b""
        while b"event: token" not in seen:
            seen += next(stream)
        assert interrupt(Run.objects.get())
        b"".join(stream)
    entry = RunLog.objects.get()
    assert (entry.outcome, entry.error_code, entry.steps) == ("interrupted", "interrupted", [])
    assert Turn.objects.get().log_id == str(entry.pk)


def test_an_answer_is_not_lost_for_its_log(visitor):
    """D46."""

    def full(sender, **kwargs):
        raise DatabaseError("disk full")

    pre_save.connect(full, sender=RunLog)
    try:
        response = ask(visitor, say(ANSWER))
    finally:
        pre_save.disconnect(full, sender=RunLog)
    assert response.status_code == 200 and not RunLog.objects.exists()
    turn = Turn.objects.get()
    assert (turn.outcome, turn.log_id) == ("answered", None)


def test_a_page_made_private_during_the_run_has_no_title_in_it(visitor):
    """P17."""

    def answer(messages):
        if messages[-1].type == "tool":
            return say("On Friday [1].")
        elsewhere(Article.objects.filter(title="Depot times").update, audience="staff")
        return call("search", query="label address")

    with scripted(answer):
        visitor.ask()
    (gone,) = [s for s in RunLog.objects.get().sources if not s["positions"]]
    assert gone["title"] == "" and gone["number"] == 1


def test_an_entry_goes_with_its_conversation(visitor):
    first = ask(visitor, say(ANSWER)).json()
    visitor.delete(f"conversations/{first['conversation_id']}")
    assert not RunLog.objects.exists()
