"""Conversations by their rules: lifetime, places, history and held sources, and many at once."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connections
from django.db.models import Sum
from django.db.models.signals import post_init
from django.utils import timezone

from ai_answers.answers.conversations import Question, open_turn
from ai_answers.answers.turns import Closing, close_turn
from ai_answers.chat_models.scripted import call, say, scripted
from ai_answers.exceptions import TurnInProgress
from ai_answers.models import Agent, BudgetDay, Conversation, Run, RunLog, Turn
from ai_answers.values import Asker, Frame, Usage

from ..api.conftest import Api
from ..content import make_agent, make_pages
from ..postgres import missing
from ..site.models import Article

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).parent.parent.parent
ANONYMOUS = Asker(user=AnonymousUser(), language="en")


@pytest.fixture
def visitor():
    make_pages()
    make_agent()
    return Api()


def ask(who, *replies, question="When do parcels leave?", **fields):
    with scripted(*replies) as script:
        response = who.ask(question, **fields)
    assert response.status_code == 200, response.content
    return response.json(), script


def lifetime():
    left = Conversation.objects.get().expires_at - timezone.now()
    return left.total_seconds()


def test_each_turn_moves_the_end_on_by_the_agents_own_lifetime(visitor):
    """S14, D8, D45: the lifetime slides, also by what was set meanwhile."""
    Agent.objects.update(conversation_ttl=90)
    first, _ = ask(visitor, say("On Friday [1]."))
    assert 60 < lifetime() <= 90
    Conversation.objects.update(expires_at=timezone.now() + datetime.timedelta(seconds=5))
    ask(visitor, say("Yes [1]."), conversation_id=first["conversation_id"])
    assert 60 < lifetime() <= 90
    Agent.objects.update(conversation_ttl=7200)
    ask(visitor, say("Yes [1]."), conversation_id=first["conversation_id"])
    assert lifetime() > 7000


def test_a_long_answer_does_not_eat_the_time_for_a_follow_up(visitor):
    """D45: the lifetime counts from the end of the last turn."""
    Agent.objects.update(conversation_ttl=60)
    spec = open_turn(Question(text="When?", agent="depot"), ANONYMOUS, visitor="v", payer="p")
    Conversation.objects.update(expires_at=timezone.now())  # the answer took that long
    end(spec)
    assert lifetime() > 50


def test_the_model_is_told_that_a_query_must_stand_on_its_own(visitor):
    """S28: a follow-up's search is the agent's decision; "there" means nothing to an index."""
    first, _ = ask(visitor, say("On Friday [1]."))
    _, script = ask(visitor, say("At six [1]."), conversation_id=first["conversation_id"])
    (search,) = [t["function"] for t in script.requests[0].tools]
    assert "must stand on its own" in search["description"]
    assert "complete without the conversation" in json.dumps(search["parameters"])
    first_turn = [m.type for m in script.requests[0].messages]
    assert "tool" not in first_turn, "nothing was searched for the follow-up by force"


def test_the_history_holds_no_markers_and_numbers_are_this_turns_alone(visitor):
    """G07, S28: a number means what it means in this turn, whatever it meant in the last."""
    body, _ = ask(
        visitor,
        say("On Friday [1], for four euros [2], see `a[1]` and \\[2\\]."),
        question="When do parcels leave, what does a parcel cost, which label?",
    )
    held = Turn.objects.get().sources
    assert len(held) >= 2 and [r["index"] for r in body["answer"]["references"]] == [1, 2]
    Article.objects.filter(title=held[0]["title"]).update(audience="staff")

    replies = [say(f"It is [1], not [{len(held)}] and not [7].")]
    second, script = ask(visitor, *replies, conversation_id=body["conversation_id"])

    said = script.requests[0].messages
    assert [m.type for m in said] == ["system", "human", "ai", "human"]
    assert "[1]." not in said[2].text and "[2]" not in said[2].text.replace("\\[2\\]", "")
    # The first of the last turn is gone, so what was 2 is 1, and the last number is nobody's.
    (reference,) = second["answer"]["references"]
    assert reference["label"] == held[1]["title"]
    assert second["answer"]["text"] == "It is[1], not and not."
    assert Turn.objects.get(position=2).invalid_citations == 2


def test_sources_are_held_over_several_turns_without_a_search(visitor):
    """S28: by reference to the turn before, which held them itself."""
    body, _ = ask(visitor, say("On Friday [1]."))
    for position in (2, 3):
        body, _ = ask(visitor, say("At six [1]."), conversation_id=body["conversation_id"])
        assert [r["label"] for r in body["answer"]["references"]] == ["Depot times"]
        assert body["turn"] == position
    replies = [call("search", query="parcel label address"), say("Capital letters [1] [9].")]
    last, _ = ask(visitor, *replies, conversation_id=body["conversation_id"])
    assert last["answer"]["references"][0]["label"] == "Depot times", "held ones come first"


def test_all_earlier_turns_are_given_where_the_agent_has_no_cap(visitor):
    """D9: 0 means all."""
    assert Agent.objects.get().max_history_turns == 0
    body, _ = ask(visitor, say("On Friday [1]."), question="Question 1?")
    for number in (2, 3, 4):
        body, script = ask(
            visitor,
            say("Yes [1]."),
            question=f"Question {number}?",
            conversation_id=body["conversation_id"],
        )
    asked = [m.text for m in script.requests[0].messages if m.type == "human"]
    assert asked == [f"Question {number}?" for number in (1, 2, 3, 4)]


def test_a_conversation_erased_while_a_follow_up_opens_stays_erased(visitor):
    """Saving the row again would bring it back under its old id."""
    body, _ = ask(visitor, say("On Friday [1]."))

    def erase(sender, instance, **kwargs):
        post_init.disconnect(erase, sender=Conversation)
        Conversation.objects.filter(pk=instance.pk).delete()

    post_init.connect(erase, sender=Conversation)
    response = visitor.ask("And?", conversation_id=body["conversation_id"])
    unknown = visitor.ask("And?", conversation_id="0" * 32)
    assert (response.status_code, response.content) == (404, unknown.content)
    # In one transaction with the refusal the deletion is undone; what counts is no second row.
    assert Turn.objects.count() <= 1


WRITERS, TURNS = 16, 50


def end(spec, *, text="On Friday [1]."):
    """End a run as its process does."""
    closing = Closing(outcome="answered", text=text, usage=Usage(input_tokens=7, output_tokens=3))
    frame = Frame(kind="done", data={"text": text})
    return close_turn(spec.run_id, closing, frame=frame, sequence=5)


def converse(number, failures):
    """Ask ``TURNS`` questions in one conversation."""
    try:
        conversation_id = None
        for position in range(1, TURNS + 1):
            question = Question(
                text=f"Question {position} of {number}?",
                agent="depot",
                conversation_id=conversation_id,
                request_id=f"{number}-{position}",
            )
            spec = open_turn(question, ANONYMOUS, visitor=f"v{number}", payer=f"p{number}")
            conversation_id = spec.conversation_id
            assert spec.position == position and spec.is_new
            assert end(spec, text=f"Answer {position} to {number}.") is not None
    except BaseException as error:
        failures.append(error)
    finally:
        connections.close_all()


def together(function, arguments):
    threads = [threading.Thread(target=function, args=(argument,)) for argument in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_sixteen_writers_of_fifty_turns_lose_nothing(settings):
    """Every turn, run, log entry and count is there, and nobody saw "database is locked"."""
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"BUDGETS": {"visitor": None}}
    make_agent()
    failures = []
    together(lambda number: converse(number, failures), range(WRITERS))
    assert failures == []
    turns = WRITERS * TURNS
    assert Conversation.objects.count() == WRITERS
    for conversation in Conversation.objects.prefetch_related("turns"):
        saved = list(conversation.turns.order_by("position"))
        assert [turn.position for turn in saved] == list(range(1, TURNS + 1))
        assert {turn.outcome for turn in saved} == {"answered"}
        for turn in saved:
            _, position, of, number = turn.question.rstrip("?").split()
            assert turn.answer == f"Answer {position} to {number}." and int(position)
    assert Run.objects.filter(status=Run.Status.ENDED).count() == RunLog.objects.count() == turns
    spent = BudgetDay.objects.filter(key="site").aggregate(
        questions=Sum("questions"), tokens=Sum("tokens"), reserved=Sum("reserved")
    )
    assert spent == {"questions": turns, "tokens": turns * 10, "reserved": 0}


def test_sixteen_tabs_that_ask_at_once_get_one_turn_each_round(settings):
    """One opens the next turn, the others a conflict; no place is taken twice or left out."""
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"BUDGETS": {"visitor": None}}
    make_agent()
    first = open_turn(Question(text="First?", agent="depot"), ANONYMOUS, visitor="v", payer="p")
    end(first)
    opened, refused, other = [], [], []
    barrier = threading.Barrier(WRITERS)

    def tab(number):
        try:
            for _ in range(5):
                barrier.wait(60)
                question = Question(text="At once?", conversation_id=first.conversation_id)
                try:
                    opened.append(open_turn(question, ANONYMOUS, visitor=f"v{number}", payer="p"))
                except TurnInProgress:
                    refused.append(number)
                if barrier.wait(60) == 0:
                    for spec in opened[:]:
                        end(spec)
                barrier.wait(60)
        except BaseException as error:
            other.append(error)
            barrier.abort()
        finally:
            connections.close_all()

    together(tab, range(WRITERS))
    assert other == []
    assert (len(opened), len(refused)) == (5, 5 * (WRITERS - 1))
    assert list(Turn.objects.order_by("position").values_list("position", flat=True)) == [
        1, 2, 3, 4, 5, 6
    ]  # fmt: skip


@pytest.mark.postgresql
@pytest.mark.skipif(bool(missing()), reason=missing())
@pytest.mark.skipif(
    os.environ.get("AI_ANSWERS_TEST_DATABASE") == "postgresql", reason="It runs there already."
)
def test_postgresql_loses_nothing_either():
    """The same two on PostgreSQL, whose writers do not queue."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "sixteen"]
    done = subprocess.run(
        [*command, str(Path(__file__).relative_to(ROOT))],
        cwd=ROOT,
        env=os.environ | {"AI_ANSWERS_TEST_DATABASE": "postgresql"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "2 passed" in done.stdout
