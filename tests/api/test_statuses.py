"""Every endpoint × method × identity × Accept: who gets which status, in which shape."""

from __future__ import annotations

import json
import uuid

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from ai_answers.models import Agent, Conversation, Run, Turn

from ..content import make_agent, make_pages

IDENTITIES = ["anonymous", "owner", "other", "staff", "superuser", "no_csrf"]
"""``no_csrf`` is the owner without a token."""
STREAM = "text/event-stream"
ACCEPTS = [
    STREAM,
    f"application/json, {STREAM};q=0.1",
    "application/json",
    "*/*",
    "image/png",
    None,
]

NEW = {"agent": "depot", "question": "When do parcels leave?"}
FOLLOW_UP = NEW | {"conversation_id": "CONVERSATION"}
VOTE = {"conversation_id": "CONVERSATION", "turn": 1, "rating": "up"}
SEARCH = {"agent": "depot", "query": "parcels"}
FORM = {"agent": "depot", "q": "When do parcels leave?"}
ID = "CONVERSATION"

# What is somebody else's is 404 for staff and superusers, too (S11, S20-S23); a request that
# changes something needs the token from everybody (S2).
#                                                  anonymous owner other staff superuser no_csrf
TABLE = [
    ("POST", "question", NEW,                           200, 200, 200, 200, 200, 403),
    ("POST", "question", FOLLOW_UP,                     404, 200, 404, 404, 404, 403),
    ("POST", "question", NEW | {"question": " "},       400, 400, 400, 400, 400, 403),
    ("POST", "question", NEW | {"agent": "nobody"},     404, 404, 404, 404, 404, 403),
    ("POST", "question", NEW | {"agent": "off"},        409, 409, 409, 409, 409, 403),
    ("GET", "runs/RUN/events", None,                    404, 200, 404, 404, 404, 200),
    ("GET", "runs/UNKNOWN/events", None,                404, 404, 404, 404, 404, 404),
    ("GET", "runs/no-id/events", None,                  404, 404, 404, 404, 404, 404),
    ("POST", "runs/RUN/stop", {},                       404, 200, 404, 404, 404, 403),
    ("POST", "runs/UNKNOWN/stop", {},                   404, 404, 404, 404, 404, 403),
    ("GET", f"conversations/{ID}", None,                404, 200, 404, 404, 404, 200),
    ("HEAD", f"conversations/{ID}", None,               404, 200, 404, 404, 404, 200),
    ("DELETE", f"conversations/{ID}", None,             404, 200, 404, 404, 404, 403),
    ("GET", "conversations/UNKNOWN", None,              404, 404, 404, 404, 404, 404),
    ("POST", "feedback", VOTE,                          404, 200, 404, 404, 404, 403),
    ("POST", "feedback", VOTE | {"rating": "meh"},      400, 400, 400, 400, 400, 403),
    ("POST", "search", SEARCH,                          200, 200, 200, 200, 200, 403),
    ("POST", "search", SEARCH | {"agent": "nobody"},    404, 404, 404, 404, 404, 403),
    ("GET", "session", None,                            200, 200, 200, 200, 200, 200),
    ("GET", "ask?q=When", None,                         200, 200, 200, 200, 200, 200),
    ("POST", "ask", FORM,                               200, 200, 200, 200, 200, 403),
    ("POST", "ask", FORM | {"q": " "},                  400, 400, 400, 400, 400, 403),
    ("POST", "ask", FORM | {"agent": "nobody"},         404, 404, 404, 404, 404, 403),
]  # fmt: skip

METHODS = {
    "question": {"POST"},
    "runs/RUN/events": {"GET", "HEAD"},
    "runs/RUN/stop": {"POST"},
    f"conversations/{ID}": {"GET", "HEAD", "DELETE"},
    "feedback": {"POST"},
    "search": {"POST"},
    "session": {"GET", "HEAD"},
}
OTHER_METHODS = [
    (method, path)
    for path, allowed in METHODS.items()
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
    if method not in allowed
]


class Site:
    """One conversation with an ended run, its owner, and everybody else."""

    def __init__(self):
        make_pages()
        self.agent = make_agent(chat_model="default")
        make_agent(slug="off", enabled=False)
        users = {
            "owner": User.objects.create_user("owner"),
            "other": User.objects.create_user("other"),
            "staff": User.objects.create_user("staff", is_staff=True),
            "superuser": User.objects.create_superuser("superuser"),
        }
        self.clients = {name: Client(enforce_csrf_checks=True) for name in IDENTITIES}
        for name, user in (users | {"no_csrf": users["owner"]}).items():
            self.clients[name].force_login(user)
        self.tokens = {
            name: client.get("/ai-answers/session").json()["csrf_token"]
            for name, client in self.clients.items()
        }
        self.tokens["no_csrf"] = ""
        self.owner = users["owner"]

    def request(self, method, path, body, *, identity, accept):
        """Ask about a conversation of its own each time: the request may erase it."""
        now = timezone.now()
        conversation = Conversation.objects.create(
            agent=self.agent, owner=self.owner, expires_at=now + timezone.timedelta(hours=1)
        )
        turn = Turn.objects.create(
            conversation=conversation, position=1, question="When?", answer="At six.",
            outcome="answered",
        )  # fmt: skip
        run = Run.objects.create(
            turn=turn, status=Run.Status.ENDED, sequence=2, heartbeat_at=now, text="At six.",
            last_frame={"kind": "done", "data": {"text": "At six.", "references": []}},
        )  # fmt: skip
        ids = {ID: str(conversation.pk), "RUN": str(run.pk), "UNKNOWN": str(uuid.uuid4())}
        sent = json.dumps(body)
        for name, value in ids.items():
            path, sent = path.replace(name, value), sent.replace(name, value)
        headers = {"X-CSRFToken": self.tokens[identity]} | ({"Accept": accept} if accept else {})
        form = path == "ask" and method == "POST"
        data = json.loads(sent) if form else sent if body is not None else ""
        extra = {} if form else {"content_type": "application/json"}
        call = self.clients[identity].generic
        if form:
            call, arguments = self.clients[identity].post, (f"/ai-answers/{path}", data)
        else:
            arguments = (method, f"/ai-answers/{path}", data)
        return call(*arguments, headers=headers, **extra)


@pytest.fixture
def site(db, settings):
    runner = {"RUNNER": "ai_answers.runs.runner.InlineRunner", "BUDGETS": {}}
    settings.AI_ANSWERS = settings.AI_ANSWERS | runner
    return Site()


def check_shape(response, *, path, method, accept):
    """D23, D28, D29: one shape for errors; a stream for whoever asks for one by name."""
    assert "no-store" in response["Cache-Control"]
    is_stream = response["Content-Type"].startswith(STREAM)
    if path.startswith("ask"):
        assert response["Content-Type"].startswith("text/html")
    elif response.status_code >= 400:
        assert response["Content-Type"] == "application/json"
        if method != "HEAD":
            error = json.loads(response.content)
            assert set(error) == {"error"} and set(error["error"]) == {"code", "message"}
            assert error["error"]["message"]
    elif path.endswith("/events"):
        assert is_stream
    elif path == "question":
        assert is_stream == (STREAM in (accept or ""))
    else:
        assert response["Content-Type"] == "application/json"
    if is_stream:
        assert b"event: done" in b"".join(response.streaming_content)


def name(row):
    return f"{row[0]} {row[1]} {json.dumps(row[2])}"


@pytest.mark.parametrize("row", TABLE, ids=name)
def test_who_gets_what(site, row):
    """S1-S6, S9-S11, S20-S23, D19, D23, D28, D33: a status depends on who asks, never on Accept."""
    method, path, body, *statuses = row
    got = {}
    for identity in IDENTITIES:
        for accept in ACCEPTS:
            response = site.request(method, path, body, identity=identity, accept=accept)
            got.setdefault(identity, set()).add(response.status_code)
            if not (path.startswith("ask") and response.status_code == 403):  # Django's own page
                check_shape(response, path=path, method=method, accept=accept)
    assert got == {who: {status} for who, status in zip(IDENTITIES, statuses, strict=True)}


@pytest.mark.parametrize(("method", "path"), OTHER_METHODS, ids=map(" ".join, OTHER_METHODS))
def test_other_methods_are_refused_and_the_right_ones_named(site, method, path):
    for identity in IDENTITIES:
        for accept in (STREAM, None):
            response = site.request(method, path, {}, identity=identity, accept=accept)
            is_safe = method in ("GET", "HEAD", "OPTIONS")
            refused = 403 if identity == "no_csrf" and not is_safe else 405
            assert response.status_code == refused, identity
            check_shape(response, path=path, method=method, accept=accept)
            if refused == 405:
                assert METHODS[path] - {"HEAD"} <= set(response["Allow"].split(", "))


PERMITTED = ["anonymous", "other", "staff", "permitted", "superuser"]
"""``permitted`` alone was given the permission to ask; a superuser has all of them."""
PERMISSIONS = [
    ("POST", "question", NEW,    403, 403, 403, 200, 200),
    ("POST", "search", SEARCH,   403, 403, 403, 200, 200),
    ("POST", "feedback", VOTE,   403, 403, 403, 404, 404),
    ("GET", "runs/RUN/events", None,      403, 403, 403, 404, 404),
    ("POST", "runs/RUN/stop", {},         403, 403, 403, 404, 404),
    ("GET", f"conversations/{ID}", None,  403, 403, 403, 404, 404),
    ("GET", "session", None,     200, 200, 200, 200, 200),
]  # fmt: skip


@pytest.mark.parametrize("row", PERMISSIONS, ids=name)
def test_without_a_public_agent_the_permission_stands_on_the_route(site, row):
    """S1, S3, D19, D22: staff have no more rights than anybody else."""
    method, path, body, *statuses = row
    Agent.objects.update(access=Agent.Access.AUTHENTICATED)
    permitted = User.objects.create_user("permitted")
    permitted.user_permissions.add(Permission.objects.get(codename="use_ai_answers"))
    site.clients["permitted"] = client = Client(enforce_csrf_checks=True)
    client.force_login(permitted)
    site.tokens["permitted"] = client.get("/ai-answers/session").json()["csrf_token"]
    got = {}
    for identity in PERMITTED:
        for accept in (STREAM, None):
            response = site.request(method, path, body, identity=identity, accept=accept)
            got.setdefault(identity, set()).add(response.status_code)
            check_shape(response, path=path, method=method, accept=accept)
    assert got == {who: {status} for who, status in zip(PERMITTED, statuses, strict=True)}
