"""Votes on a turn: whose, which, and what becomes of them (S70–S73, D33–D36, D38)."""

import threading

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connections

from ai_answers.chat_models.scripted import say, scripted
from ai_answers.models import Agent, Conversation, Feedback, RunLog, Turn
from ai_answers.signals import feedback_given

from .conftest import elsewhere

ANSWER = "They leave on Friday at six [1]."
RATINGS = [
    ("up", "positive"), (1, "positive"), ("positive", "positive"),
    ("down", "negative"), (-1, "negative"), (0, "negative"), ("negative", "negative"),
]  # fmt: skip


@pytest.fixture
def member(agent):
    user = User.objects.create_user("member")
    user.user_permissions.add(Permission.objects.get(codename="use_ai_answers"))
    return user


def ask(who, **fields):
    with scripted(say(ANSWER)):
        return who.ask(**fields).json()


def vote(who, conversation, **fields):
    body = {"conversation_id": conversation["conversation_id"], "turn": 1, "rating": "up"}
    return who.post("feedback", body | fields)


def error_of(response):
    return response.status_code, response.json()["error"]["code"]


@pytest.mark.parametrize(("rating", "saved"), RATINGS)
def test_feedback_is_recorded_and_changeable(visitor, rating, saved):
    """D33-D35: one vote a person."""
    first = ask(visitor)
    vote(visitor, first, rating="down", reasons=["incomplete"], comment="No times.")
    response = vote(visitor, first, rating=rating, comment=" Good. ")
    assert response.json() == {"status": "recorded"}
    assert response["Cache-Control"] == "no-store"  # D23
    feedback = Feedback.objects.get()
    assert (feedback.rating, feedback.reasons, feedback.comment) == (saved, [], "Good.")


@pytest.mark.parametrize(
    "change",
    [{"rating": "meh"}, {"rating": ""}, {"rating": None}, {"rating": True}, {"rating": 1.0},
     {"turn": 0}, {"turn": "x"}, {"conversation_id": ""}, {"conversation_id": "x"},
     {"comment": "x" * 2001}, {"reasons": "incorrect"}, {"reasons": ["x"] * 11},
     {"reasons": ["Call me on 555 0100"]}],
)  # fmt: skip
def test_bad_feedback_is_refused(visitor, change):
    """D34, D35."""
    first = ask(visitor)
    assert error_of(vote(visitor, first, **change)) == (400, "invalid")
    assert not Feedback.objects.exists()


def test_feedback_needs_the_switch_and_a_turn(visitor):
    """S70, S71, D7."""
    first = ask(visitor)
    assert error_of(vote(visitor, first, turn=7)) == (404, "not_found")
    Agent.objects.update(feedback_enabled=False)
    assert error_of(vote(visitor, first)) == (409, "agent_not_usable")


def test_a_turn_that_still_runs_has_no_answer_to_vote_on(visitor):
    first = ask(visitor)
    Turn.objects.update(outcome="")
    assert vote(visitor, first).status_code == 404


def test_the_owner_rule_is_that_of_answering(visitor, member, api):
    """S70, S20-S23: without an owner whoever has the id may vote, else the owner alone."""
    first = ask(visitor)
    assert vote(api(), first).status_code == 200
    own = ask(api(member))
    assert vote(api(member), own).status_code == 200
    assert error_of(vote(visitor, own)) == (404, "not_found")
    other = User.objects.create_user("other")
    unknown = {"conversation_id": "5c2b6a4e-0000-4000-8000-000000000000"}
    assert vote(api(other), own).json() == vote(api(other), unknown).json()


def test_permission_and_csrf_are_those_of_asking(visitor, api):
    """D33, D19, S3."""
    first = ask(visitor)
    assert error_of(vote(api(csrf=False), first)) == (403, "csrf_failed")
    Agent.objects.update(access=Agent.Access.AUTHENTICATED)
    assert error_of(vote(visitor, first)) == (403, "permission_denied")
    assert not Feedback.objects.exists()


def test_each_person_has_one_vote_on_each_turn(visitor, member, api):
    """A browser without a user counts as one person, a user as one wherever he is."""
    first = ask(visitor)
    ask(visitor, conversation_id=first["conversation_id"])
    for _ in range(2):
        vote(visitor, first)
        vote(visitor, first, turn=2)
        vote(api(), first, rating="down")  # another browser each time
    assert Feedback.objects.filter(turn__position=1).count() == 3
    assert Feedback.objects.filter(turn__position=2).count() == 1
    own = ask(api(member))
    vote(api(member), own)
    vote(api(member), own, rating="down")
    assert Feedback.objects.get(user=member).rating == "negative"


def test_many_votes_of_one_person_at_once_are_one(visitor):
    """A double click, on several connections."""
    first = ask(visitor)
    answers = []

    def click():
        try:
            answers.append(vote(visitor, first).status_code)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=click) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 6 and Feedback.objects.count() == 1


def test_a_comment_is_cleaned_and_masked(visitor, settings):
    """What those who read it would not see, or see elsewhere, is not kept; lines are."""
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"MASK": lambda text: text.replace("555", "…")}
    hostile = "\u202eNo.\x07 times\u200b\n <b>Call\U000e0041</b> 555! " + "e" + "\u0301" * 50
    vote(visitor, ask(visitor), comment=hostile)
    kept = "No. times\n <b>Call</b> …! " + "e" + "\u0301" * 8
    assert Feedback.objects.get().comment == kept


def test_a_vote_is_noted_in_the_log_entry_and_replaces_the_one_before(visitor, member, settings):
    """S72, S73, D36: the tag is replaced and not added, the extra data hold the vote."""
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"LOG_TEXT": True}
    first = ask(visitor)
    RunLog.objects.update(tags=["reviewed"], extra={"site": {"kept": True}})
    vote(visitor, first, rating="down", reasons=["sources"], comment="No times.")
    entry = RunLog.objects.get()
    assert entry.tags == ["reviewed", "feedback:negative"]
    given = Feedback.objects.get().updated_at.isoformat()
    assert entry.extra["ai_answers_feedback"] == {
        "rating": "negative",
        "reasons": ["sources"],
        "comment": "No times.",
        "user": None,
        "given_at": given,
    }
    vote(visitor, first)
    entry.refresh_from_db()
    assert entry.tags == ["reviewed", "feedback:positive"]
    assert entry.extra["ai_answers_feedback"]["rating"] == "positive"
    assert entry.extra["site"] == {"kept": True}


def test_the_log_entry_of_a_turn_tells_who_voted(member, api):
    """D36."""
    vote(api(member), ask(api(member)))
    assert RunLog.objects.get().extra["ai_answers_feedback"]["user"] == str(member.pk)


def test_an_entry_without_texts_gets_no_words_of_the_comment(visitor):
    """``LOG_TEXT`` off, the default; the vote itself has them."""
    vote(visitor, ask(visitor), rating="down", comment="Zebulon was here.")
    assert "Zebulon" not in str(RunLog.objects.values())
    assert Feedback.objects.get().comment == "Zebulon was here."


def test_a_vote_needs_no_log_entry(visitor):
    """D38."""
    first = ask(visitor)
    RunLog.objects.all().delete()
    assert vote(visitor, first).status_code == 200
    assert Feedback.objects.get().rating == "positive"


def test_a_site_hears_of_every_vote_and_cannot_spoil_it(visitor):
    heard = []

    def hear(sender, feedback, **kwargs):
        heard.append((sender, feedback.rating, Feedback.objects.get().rating))
        raise RuntimeError("A site's own code fails.")

    feedback_given.connect(hear)
    try:
        assert vote(visitor, ask(visitor)).status_code == 200
    finally:
        feedback_given.disconnect(hear)
    assert heard == [(Feedback, "positive", "positive")]


def test_votes_have_a_rate_of_their_own(visitor, settings):
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"THROTTLE": {"feedback": "2/min", "burst": None}}
    first = ask(visitor)
    statuses = [vote(visitor, first).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    refused = vote(visitor, first)
    assert error_of(refused) == (429, "throttled") and int(refused["Retry-After"]) >= 1


def test_a_vote_during_erasure_is_a_vote_on_nothing(visitor):
    first = ask(visitor)
    elsewhere(Conversation.objects.all().delete)
    assert error_of(vote(visitor, first)) == (404, "not_found")
