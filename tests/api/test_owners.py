"""Whose a conversation is: everything about another's looks as if it were not there."""

import json
import uuid

import pytest
from django.contrib.auth.models import Permission, User
from django.utils import timezone

from ai_answers.chat_models.scripted import say, scripted
from ai_answers.models import Agent, Conversation, Turn

from ..content import make_agent

METHODS = ("get", "head", "post", "put", "patch", "delete", "options", "trace")
PATHS = ("conversations/{id}", "runs/{id}/events", "runs/{id}/stop")
BODIES = {
    "question": {"agent": "depot", "question": "And then?", "conversation_id": "{id}"},
    "feedback": {"conversation_id": "{id}", "turn": 1, "rating": "up"},
}


@pytest.fixture
def owned(agent, api):
    """A conversation of a member, and the two who are not he."""
    member = api(User.objects.create_user("member"))
    with scripted(say("On Friday [1].")):
        first = member.ask().json()
    strangers = {"anonymous": api(), "root": api(User.objects.create_superuser("root"))}
    return first, strangers


def seen(response, sent_id):
    """What a stranger can tell two answers apart by."""
    headers = {k: v for k, v in response.headers.items() if k != "Content-Length"}
    body = b"".join(response.streaming_content) if response.streaming else response.content
    return response.status_code, headers, body.replace(sent_id.encode(), b"ID")


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream", "*/*"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", PATHS)
def test_unknown_and_foreign_are_the_same_for_every_method(owned, path, method, accept):
    """S20, S22, S23: same status, headers and bytes, and nothing has happened."""
    first, strangers = owned
    known = first["run" if path.startswith("runs") else "conversation_id"]
    for who, stranger in strangers.items():
        answers = [
            seen(
                stranger.client.generic(
                    method.upper(),
                    f"/ai-answers/{path.format(id=sent)}",
                    HTTP_X_CSRFTOKEN=stranger.token,
                    HTTP_ACCEPT=accept,
                ),
                sent,
            )
            for sent in (known, str(uuid.uuid4()), known[:-1], "x" * 36)
        ]
        assert answers[0][0] in (404, 405), who
        assert answers[1:] == answers[:1] * 3, who
    assert Turn.objects.get().outcome == "answered" and Turn.objects.get().feedback.count() == 0


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("path", BODIES)
def test_unknown_and_foreign_are_the_same_in_a_body(owned, path, accept):
    """S20, S22, S23, S70."""
    first, strangers = owned
    for stranger in strangers.values():
        answers = [
            seen(
                stranger.post(
                    path,
                    raw=json.dumps(BODIES[path]).replace("{id}", sent),
                    HTTP_ACCEPT=accept,
                ),
                sent,
            )
            for sent in (first["conversation_id"], str(uuid.uuid4()))
        ]
        assert answers[0] == answers[1] and answers[0][0] == 404
    assert Turn.objects.get().feedback.count() == 0


def test_unknown_and_foreign_are_the_same_on_the_page_without_javascript(owned):
    """S23."""
    first, strangers = owned
    for stranger in strangers.values():
        form = {"q": "And then?", "agent": "depot", "csrfmiddlewaretoken": stranger.token}
        answers = []
        for sent in (first["conversation_id"], str(uuid.uuid4())):
            response = stranger.client.post("/ai-answers/ask", form | {"conversation_id": sent})
            html = response.content.decode().replace(sent, "ID")
            # The page carries a request id and a masked token of its own each time.
            answers.append((response.status_code, len(html), "And then?" in html))
        assert answers[0] == answers[1] and answers[0][0] == 404
    assert Turn.objects.count() == 1


def test_an_expired_conversation_is_as_if_unknown_to_a_follow_up(owned, api):
    """S14, D8: also to its owner; he may still look at it (its deletion is retention's)."""
    first, _ = owned
    Conversation.objects.update(expires_at=timezone.now())
    member = api(User.objects.get(username="member"))
    expired = member.ask("And?", conversation_id=first["conversation_id"])
    unknown = member.ask("And?", conversation_id=str(uuid.uuid4()))
    assert (expired.status_code, expired.content) == (404, unknown.content)
    assert member.get(f"conversations/{first['conversation_id']}").status_code == 200


def test_who_may_not_ask_the_agent_learns_no_more_of_others(owned):
    """S23 before D19: a 403 for a foreign conversation would tell that it exists."""
    first, strangers = owned
    Agent.objects.update(access=Agent.Access.AUTHENTICATED)
    make_agent(slug="open")  # or the route itself refuses everybody, whatever the id
    for stranger in strangers.values():
        for sent in (first["conversation_id"], str(uuid.uuid4())):
            assert stranger.get(f"conversations/{sent}").status_code == 404
            response = stranger.ask("And?", conversation_id=sent)
            assert response.status_code == 404


def test_an_owner_who_signed_out_is_a_stranger(owned, api):
    """S22: signed in again, it is his as before."""
    first, _ = owned
    user = User.objects.get(username="member")
    member = api(user)
    path = f"conversations/{first['conversation_id']}"
    assert member.get(path).status_code == 200
    member.client.logout()
    assert member.get(path).status_code == 404
    assert api(user).get(path).status_code == 200


def test_a_users_deletion_deletes_his_conversations_and_opens_none(owned):
    """S21: a private conversation never becomes one that an id alone opens."""
    first, strangers = owned
    User.objects.get(username="member").delete()
    assert not Conversation.objects.exists()
    path = f"conversations/{first['conversation_id']}"
    assert strangers["anonymous"].get(path).status_code == 404


def test_staff_read_conversations_in_the_admin_alone(owned, api):
    """S22: no permission opens another's conversation on the wire."""
    first, _ = owned
    staff = User.objects.create_user("staff", is_staff=True)
    staff.user_permissions.set(Permission.objects.all())
    assert api(staff).get(f"conversations/{first['conversation_id']}").status_code == 404
