import datetime
import json
import threading
import time
import uuid

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.db.models.signals import pre_save
from django.utils import timezone

from ai_answers.chat_models.scripted import Reply, call, say, scripted
from ai_answers.models import Agent, BudgetDay, Conversation, Run, Turn
from ai_answers.signals import answer_finished

from ..site.models import Article
from ..sse import frames_of
from .conftest import elsewhere

ANSWER = "They leave on Friday at six [1]."


@pytest.fixture
def member(agent):
    return User.objects.create_user("member")


def ask(who, question="When do parcels leave?", **fields):
    with scripted(say(ANSWER)):
        return who.ask(question, **fields)


def test_a_follow_up_sees_the_history_without_markers(visitor):
    """D40, G07: earlier turns become messages, citation markers gone."""
    first = ask(visitor).json()
    with scripted(say("Also there [1].")) as script:
        second = visitor.ask("And where?", conversation_id=first["conversation_id"]).json()
    assert second["conversation_id"] == first["conversation_id"] and second["turn"] == 2
    history = [(m.type, m.text) for m in script.requests[0].messages[1:]]
    assert history == [
        ("human", "When do parcels leave?"),
        ("ai", "They leave on Friday at six."),
        ("human", "And where?"),
    ]


def test_a_follow_up_without_a_search_holds_the_last_sources(visitor):
    """S28: numbers are looked up in this turn's registry only."""
    first = ask(visitor).json()
    with scripted(say("At six [1].")) as script:
        second = visitor.ask("At what time?", conversation_id=first["conversation_id"]).json()
    assert "Depot times" in script.requests[0].system_prompt
    assert [r["label"] for r in second["answer"]["references"]] == ["Depot times"]


def test_held_sources_are_checked_again(visitor):
    """S28, D42: what was made private in between reaches neither model nor reader."""
    first = ask(visitor).json()
    Article.objects.filter(title="Depot times").update(audience="staff")
    with scripted(say("At six [1].")) as script:
        second = visitor.ask("At what time?", conversation_id=first["conversation_id"]).json()
    assert "Depot times" not in script.requests[0].system_prompt
    assert "Depot times" not in json.dumps(second)


def test_a_follow_up_searches_when_the_agent_asks_for_it(visitor):
    """S28, S62: found sources come behind the held ones."""
    first = ask(visitor).json()
    replies = [call("search", query="parcel cost euros"), say("Four euros [2].")]
    with scripted(*replies) as script:
        second = visitor.ask("What does it cost?", conversation_id=first["conversation_id"])
    assert len(script.requests) == 2
    assert [r["index"] for r in second.json()["answer"]["references"]] == [1]


def test_the_agent_of_a_conversation_is_pinned(visitor):
    """S15."""
    first = ask(visitor).json()
    second = ask(visitor, agent="other", conversation_id=first["conversation_id"])
    assert second.status_code == 200
    assert Conversation.objects.get().agent.slug == "depot"


def test_an_anonymous_conversation_belongs_to_whoever_holds_its_id(visitor, api):
    """S21, D39."""
    first = ask(visitor).json()
    assert Conversation.objects.get().owner is None
    assert ask(api(), conversation_id=first["conversation_id"]).status_code == 200


def test_a_conversation_that_a_signed_in_user_continues_becomes_his(agent, member, api, visitor):
    """What only he may see must not be readable by whoever had the id before (S20-S22)."""
    first = ask(visitor).json()["conversation_id"]
    signed_in = api(member)
    assert ask(signed_in, conversation_id=first).status_code == 200
    assert Conversation.objects.get().owner == member
    assert visitor.get(f"conversations/{first}").status_code == 404
    assert ask(visitor, conversation_id=first).status_code == 404
    assert signed_in.get(f"conversations/{first}").status_code == 200


def test_an_owned_conversation_is_its_owners_only(agent, member, api):
    """S20, S22, S23: unknown and foreign answer with the same bytes on every endpoint."""
    owner, other = api(member), api(User.objects.create_superuser("root"))
    first = ask(owner).json()
    owned, unknown = first["conversation_id"], str(uuid.uuid4())
    for stranger in (other, api()):
        for path, method, body in [
            ("question", "post", {"agent": "depot", "question": "x", "conversation_id": "ID"}),
            ("feedback", "post", {"conversation_id": "ID", "turn": 1, "rating": "up"}),
            ("conversations/ID", "get", None),
            ("conversations/ID", "delete", None),
        ]:
            answers = []
            for known in (owned, unknown):
                sent = json.loads(json.dumps(body).replace("ID", known))
                arguments = [sent] if method == "post" else []
                response = getattr(stranger, method)(path.replace("ID", known), *arguments)
                answers.append((response.status_code, response.content))
            assert answers[0] == answers[1] and answers[0][0] == 404
        for path in (f"runs/{first['run']}/events", f"runs/{unknown}/events", "runs/x/events"):
            assert stranger.get(path).status_code == 404
        assert stranger.post(f"runs/{first['run']}/stop", {}).status_code == 404
    assert ask(owner, conversation_id=owned).status_code == 200


def test_an_expired_conversation_cannot_be_continued(visitor):
    """S14, D8, D45: each turn moves the expiry on."""
    first = ask(visitor).json()
    conversation = Conversation.objects.get()
    assert conversation.expires_at > timezone.now() + datetime.timedelta(seconds=3500)
    Conversation.objects.update(expires_at=timezone.now() - datetime.timedelta(seconds=1))
    response = ask(visitor, conversation_id=first["conversation_id"])
    assert response.status_code == 404 and Turn.objects.count() == 1


def test_the_history_is_capped(visitor):
    """D9."""
    Agent.objects.update(max_history_turns=1)
    first = ask(visitor, "Question one?").json()
    ask(visitor, "Question two?", conversation_id=first["conversation_id"])
    with scripted(say(ANSWER)) as script:
        visitor.ask("Question three?", conversation_id=first["conversation_id"])
    asked = [m.text for m in script.requests[0].messages if m.type == "human"]
    assert asked == ["Question two?", "Question three?"]


def test_a_second_question_during_a_turn_is_a_conflict(visitor):
    """Two tabs at once: one runs, the other is told before any header of a stream."""
    first = ask(visitor).json()["conversation_id"]
    with scripted(say(ANSWER, delay_seconds=0.1)):
        running = visitor.ask("One?", conversation_id=first, stream=True)
        response = visitor.ask("Two?", conversation_id=first, stream=True)
        assert response.status_code == 409
        assert response.json()["error"]["code"] == "turn_in_progress"
        assert frames_of(running)[-1].kind == "done"
    assert ask(visitor, conversation_id=first).status_code == 200


def test_many_tabs_at_once_open_exactly_one_turn(visitor, api):
    first = ask(visitor).json()["conversation_id"]
    statuses = []

    def tab():
        from django.db import connections

        try:
            response = api().ask("At once?", conversation_id=first)
            statuses.append(response.status_code)
        finally:
            connections.close_all()

    with scripted(lambda messages: say(ANSWER, first_delay_seconds=0.5)):
        tabs = [threading.Thread(target=tab) for _ in range(6)]
        for thread in tabs:
            thread.start()
        for thread in tabs:
            thread.join()
    assert sorted(statuses) == [200] + [409] * 5
    assert list(Turn.objects.values_list("position", flat=True)) == [1, 2]


def test_stop_keeps_what_was_written(visitor):
    """design 5: partial answer and its references are kept, never the no-answer text."""
    reply = Reply(deltas=["On Friday ", "[1]. ", "And then [", "2"], hang_seconds=30)
    with scripted(reply):
        response = visitor.ask(stream=True)
        stream = iter(response.streaming_content)
        seen = b""
        while b"event: token" not in seen:
            seen += next(stream)
        run = Run.objects.get()
        assert visitor.post(f"runs/{run.pk}/stop", {}).json() == {"status": "stopping"}
        seen += b"".join(stream)
    assert seen.count(b"event: stopped") == 1 and b"event: done" not in seen
    turn = Turn.objects.get()
    assert turn.outcome == "stopped" and turn.answer.strip() == "On Friday[1]. And then"
    assert [r["index"] for r in turn.references] == [1]
    assert visitor.post(f"runs/{run.pk}/stop", {}).json() == {"status": "ended"}


def test_a_finished_run_replays_after_any_id_to_the_same_text(visitor):
    with scripted(say("Many words here " * 20 + "[1].", delay_seconds=0.02)):
        frames = frames_of(visitor.ask(stream=True))
    run, last = frames[0].data["run"], frames[-1]
    for seen in (1, frames[3].id, frames[-2].id):
        rest = frames_of(visitor.get(f"runs/{run}/events", HTTP_LAST_EVENT_ID=str(seen)))
        before = [f for f in frames if f.id <= seen]
        text = "".join(f.data["text"] for f in before + rest if f.kind == "token")
        assert text == last.data["text"] and rest[-1] == last
    assert visitor.get(f"runs/{run}/events", HTTP_LAST_EVENT_ID=str(last.id)).status_code == 204
    for strange in ("9999", "abc", "-5", "1e3", "9" * 40):
        rest = frames_of(visitor.get(f"runs/{run}/events", HTTP_LAST_EVENT_ID=strange))
        assert [f.kind for f in rest] == ["snapshot", "done"]
        assert rest[0].id == last.id - 1 and rest[0].data["text"] == last.data["text"]


def test_a_run_of_another_process_replays_from_the_database(visitor):
    from ai_answers.runs import live

    with scripted(say(ANSWER)):
        frames = frames_of(visitor.ask(stream=True, format="html"))
    run, last = frames[0].data["run"], frames[-1]
    live.forget_ended(older_than=0)
    rest = frames_of(visitor.get(f"runs/{run}/events", HTTP_LAST_EVENT_ID="2"))
    assert [(f.kind, f.id) for f in rest] == [("snapshot", last.id - 1), ("done", last.id)]
    assert "Friday" in "".join(rest[0].data["parts"]) and rest[-1].data == last.data
    assert visitor.get(f"runs/{run}/events", HTTP_LAST_EVENT_ID=str(last.id)).status_code == 204


def test_a_conversation_is_restored_with_references_as_they_are_now(visitor):
    """G08, G10: references belong to their turn; what became private says nothing more."""
    first = ask(visitor).json()
    path = f"conversations/{first['conversation_id']}"
    data = visitor.get(path).json()
    assert data["run"] is None and data["agent"] == "depot"
    (turn,) = data["turns"]
    assert turn["question"] == "When do parcels leave?" and 'data-ref-index="1"' in turn["html"]
    assert turn["references"][0]["label"] == "Depot times" and turn["references"][0]["index"] == 1
    Article.objects.filter(title="Depot times").update(audience="staff", title="Secret times")
    response = visitor.get(path)
    assert b"Depot times" not in response.content and b"Secret" not in response.content
    assert response.json()["turns"][0]["references"][0]["index"] == 1


def test_a_conversation_can_be_erased(visitor):
    first = ask(visitor).json()
    path = f"conversations/{first['conversation_id']}"
    assert visitor.delete(path).json() == {"status": "deleted"}
    assert visitor.get(path).status_code == 404
    assert (Conversation.objects.count(), Turn.objects.count(), Run.objects.count()) == (0, 0, 0)


def test_a_conversation_erased_during_a_run_ends_the_run_and_gives_its_budget_back(visitor):
    reply = Reply(deltas=["On Friday ", "[1]. "], hang_seconds=30)
    with scripted(reply):
        response = visitor.ask(stream=True)
        stream = iter(response.streaming_content)
        seen = b""
        while b"event: token" not in seen:
            seen += next(stream)
        visitor.delete(f"conversations/{Conversation.objects.get().pk}")
        seen += b"".join(stream)
    assert b"event: error" in seen and b"event: done" not in seen and b"interrupted" in seen
    assert set(BudgetDay.objects.values_list("reserved", flat=True)) == {0}
    assert not Turn.objects.exists()


def test_a_stop_while_the_end_is_being_saved_changes_nothing(visitor):
    """Exactly one last frame, and the run leaves the process."""
    from ai_answers.runs import live

    def slow(sender, **kwargs):
        time.sleep(0.5)

    pre_save.connect(slow, sender=Turn)
    try:
        with scripted(say(ANSWER)):
            response = visitor.ask(stream=True)
            stream = iter(response.streaming_content)
            seen = b""
            while b"event: token" not in seen:
                seen += next(stream)
            run = Run.objects.get()
            here = live.find(run.pk)
            while here.closing is None:
                time.sleep(0.005)
            here.cancel("stopped")
            seen += b"".join(stream)
    finally:
        pre_save.disconnect(slow, sender=Turn)
    assert seen.count(b"event: done") == 1 and b"event: stopped" not in seen
    assert live.find(run.pk).ended_at is not None and live.find(run.pk).is_saved
    assert Turn.objects.get().outcome == "answered"


def test_receivers_of_answer_finished_come_after_the_end_was_sent_and_once(visitor):
    heard = []

    def hear(sender, turn, **kwargs):
        heard.append((turn.outcome, connection.in_atomic_block, kwargs["seconds"] >= 0))
        time.sleep(1)

    answer_finished.connect(hear)
    try:
        began = time.monotonic()
        assert ask(visitor).status_code == 200
        assert time.monotonic() - began < 1
        time.sleep(0.2)
    finally:
        answer_finished.disconnect(hear)
    assert heard == [("answered", False, True)]


def test_a_run_takes_no_longer_than_its_time(visitor, settings):
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"RUN_SECONDS": 0.5}
    with scripted(Reply(deltas=["On Friday [1]. "], hang_seconds=30)):
        last = frames_of(visitor.ask(stream=True))[-1]
    assert (last.kind, last.data["code"]) == ("error", "model_timeout")
    assert Turn.objects.get().answer.strip() == "On Friday[1]."


def test_an_abandoned_run_ends_where_the_site_says_so(visitor, settings):
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"ABANDON_SECONDS": 0.5}
    with scripted(Reply(deltas=["On Friday [1]. "], hang_seconds=30)):
        response = visitor.ask(stream=True)
        stream = iter(response.streaming_content)
        while b"event: token" not in next(stream):
            pass
        del stream
        response.close()
        deadline = time.monotonic() + 10
        while not Turn.objects.get().outcome and time.monotonic() < deadline:
            time.sleep(0.1)
    assert Turn.objects.get().outcome == "stopped"


def test_a_run_that_another_process_took_for_dead_ends_with_what_that_one_saved(visitor):
    from ai_answers.answers.turns import interrupt

    with scripted(Reply(deltas=["On Friday [1]. "], hang_seconds=30)):
        response = visitor.ask(stream=True)
        stream = iter(response.streaming_content)
        seen = b""
        while b"event: token" not in seen:
            seen += next(stream)
        assert interrupt(Run.objects.get())
        seen += b"".join(stream)
    assert b"event: error" in seen and b"interrupted" in seen and b"event: done" not in seen
    assert Turn.objects.get().outcome == "interrupted"


def test_an_interrupted_turn_is_restored_with_its_references(visitor):
    with scripted(say(ANSWER)):
        visitor.ask(stream=False)
    turn = Turn.objects.get()
    Turn.objects.update(outcome="interrupted", sources=[])
    path = f"conversations/{turn.conversation_id}"
    (shown,) = visitor.get(path).json()["turns"]
    assert [(r["index"], r["label"]) for r in shown["references"]] == [(1, "Depot times")]


def test_a_replay_from_the_database_shows_what_may_be_seen_now(visitor):
    """G10: also in the stored last frame."""
    from ai_answers.runs import live

    with scripted(say(ANSWER)):
        run = visitor.ask().json()["run"]
    live.forget_ended(older_than=0)
    Article.objects.filter(title="Depot times").update(audience="staff")
    body = b"".join(visitor.get(f"runs/{run}/events").streaming_content)
    assert b"Depot times" not in body and body.count(b"No longer available") >= 1


def test_a_page_made_private_during_a_run_reaches_no_later_round(visitor):
    """P17: access is asked again before each round and before the end."""

    def answer(messages):
        if messages[-1].type == "tool":
            return say("On Friday [1].")
        elsewhere(Article.objects.filter(title="Depot times").update, audience="staff")
        return call("search", query="label address")

    with scripted(answer) as script:
        body = visitor.ask().json()
    later = script.requests[1]
    assert "Depot times" not in "".join(m.text for m in later.messages)
    assert "Depot times" not in json.dumps(body)


def test_the_page_without_javascript_answers(visitor):
    page = visitor.get("ask?q=When%3F&agent=depot")
    assert page.status_code == 200 and b"When?" in page.content
    token = visitor.token
    form = {"q": "When do parcels leave?", "agent": "depot", "csrfmiddlewaretoken": token}
    with scripted(say(ANSWER)):
        response = visitor.client.post("/ai-answers/ask", form)
    html = response.content.decode()
    assert response.status_code == 200
    assert "They leave on Friday" in html and "Depot times" in html and "data-ref-index" in html
    bad = visitor.client.post("/ai-answers/ask", form | {"q": " "})
    assert bad.status_code == 400
    assert visitor.client.post("/ai-answers/ask", {"q": "x", "agent": "depot"}).status_code == 403


def test_an_agent_that_became_private_closes_its_conversations(visitor, member, api):
    """design 1.15: every endpoint follows the conversation's agent."""
    first = ask(visitor).json()
    Agent.objects.update(access=Agent.Access.AUTHENTICATED)
    assert visitor.get(f"conversations/{first['conversation_id']}").status_code == 403
    member.user_permissions.add(Permission.objects.get(codename="use_ai_answers"))
    assert api(member).get(f"conversations/{first['conversation_id']}").status_code == 200
