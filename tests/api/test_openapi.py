"""``docs/openapi.yaml`` is what the endpoints do: generated requests, and each real response."""

from __future__ import annotations

from pathlib import Path

import pytest
import requests
import schemathesis
import yaml
from django.conf import settings as django_settings
from django.contrib.auth.models import Permission, User
from django.test import Client
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator
from schemathesis import GenerationMode, checks

from ai_answers.chat_models.scripted import Reply, fail, say, scripted
from ai_answers.models import Agent
from ai_answers.urls import urlpatterns

from ..sse import parse

DESCRIPTION = yaml.safe_load((Path(__file__).parents[2] / "docs" / "openapi.yaml").read_text())
SCHEMA = schemathesis.openapi.from_dict(DESCRIPTION)
OPERATIONS = [
    (method, path)
    for path, item in DESCRIPTION["paths"].items()
    for method in ("get", "post", "delete")
    if method in item
]
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
ANSWER = "They leave on Friday at six [1].\n\n- One [1]\n- Two\n\n```\ncode\n```"
NOBODY = "00000000-0000-4000-8000-000000000000"


class Visitor:
    """A client of the live server, with a token."""

    def __init__(self, url, user=None):
        self.url = f"{url}/ai-answers"
        self.session = requests.Session()
        if user is not None:
            client = Client()
            client.force_login(user)
            name = django_settings.SESSION_COOKIE_NAME
            self.session.cookies.set(name, client.cookies[name].value)
        token = self.session.get(f"{self.url}/session").json()["csrf_token"]
        self.session.headers["X-CSRFToken"] = token

    def call(self, method, template, *, body=None, **options):
        """Send a request and hold its response against the description."""
        ids = options.pop("ids", {})
        response = self.session.request(
            method, self.url + template.format(**ids), json=body, timeout=30, **options
        )
        SCHEMA[template][method].validate_response(response)
        return response


@pytest.fixture
def visitor(agent, live_server):
    return Visitor(live_server.url)


def data_validator(kind):
    return Draft202012Validator(
        {"$ref": f"#/components/schemas/Frames/properties/{kind}", **DESCRIPTION},
        format_checker=Draft202012Validator.FORMAT_CHECKER,
    )


def frames(response):
    """Read a stream and hold the data of each frame against the description."""
    found = list(parse(response.text.split("\n")))
    for frame in found:
        assert frame.kind in DESCRIPTION["components"]["schemas"]["Frames"]["properties"]
        data_validator(frame.kind).validate(frame.data)
    return found


def test_every_endpoint_is_described_and_no_other():
    """The page without JavaScript is for people."""
    routes = {f"/{p.pattern}".replace("<str:", "{").replace(">", "}") for p in urlpatterns}
    assert set(DESCRIPTION["paths"]) == routes - {"/ask"}


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_generated_requests_get_described_responses(visitor, method, path, mode):
    """S4, S10-S12: whatever is sent, the status is a described one and never a 500."""
    operation = SCHEMA[path][method]
    has_input = operation.body or operation.path_parameters or operation.headers
    if mode == GenerationMode.NEGATIVE and not has_input:
        return

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def sends(case):
        if isinstance(case.body, dict) and mode == GenerationMode.POSITIVE:
            case.body |= {"agent": "depot"}
        case.headers = {
            name: value for name, value in (case.headers or {}).items() if name != "X-CSRFToken"
        }
        with scripted(lambda messages: say(ANSWER)):
            response = case.call(base_url=visitor.url, session=visitor.session)
        case.validate_response(response, checks=CHECKS)

    sends()


@pytest.mark.parametrize("format", ["markdown", "html"])
def test_what_a_visitor_gets_is_described(visitor, format):
    """S5-S7, S81, D25-D30, D33, D34: streams and JSON, from the question to the erasure."""
    question = {"agent": "depot", "question": "When do parcels leave?", "format": format}
    stream = {"Accept": "text/event-stream"}
    with scripted(say(ANSWER, delay_seconds=0.02), say(ANSWER)):
        sent = frames(visitor.call("post", "/question", body=question, headers=stream))
        answer = visitor.call("post", "/question", body=question).json()
    text = "token" if format == "markdown" else "part"
    assert {"turn", "status", "references", "citation", text, "done"} <= {f.kind for f in sent}
    assert answer["answer"]["text"] == sent[-1].data["text"]
    ids = {"run": sent[0].data["run"], "conversation": sent[0].data["conversation_id"]}
    for last, status in (("0", 200), ("999", 200), (str(sent[-1].id), 204)):
        events = visitor.call("get", "/runs/{run}/events", ids=ids, headers={"Last-Event-ID": last})
        assert events.status_code == status
        assert [f.kind for f in frames(events)][-1:] == (["done"] if status == 200 else [])
    assert visitor.call("post", "/runs/{run}/stop", ids=ids).json() == {"status": "ended"}
    vote = {"conversation_id": ids["conversation"], "turn": 1, "rating": "up"}
    assert visitor.call("post", "/feedback", body=vote).status_code == 200
    restored = visitor.call("get", "/conversations/{conversation}", ids=ids).json()
    assert restored["turns"][0]["feedback"] == "positive"
    found = visitor.call("post", "/search", body={"agent": "depot", "query": "parcels"}).json()
    assert found["results"]
    assert visitor.call("delete", "/conversations/{conversation}", ids=ids).status_code == 200
    assert visitor.call("get", "/conversations/{conversation}", ids=ids).status_code == 404


def test_what_is_said_of_an_answers_support_is_described(visitor):
    Agent.objects.update(grounded=True, support_check=True)
    question = {"agent": "depot", "question": "When do parcels leave?"}
    verdicts = []
    for answer in (ANSWER, "They leave on Monday at nine [1].", "I think so."):
        with scripted(say(answer), say(answer)):
            headers = {"Accept": "text/event-stream"}
            frames(visitor.call("post", "/question", body=question, headers=headers))
            body = visitor.call("post", "/question", body=question).json()
        verdicts.append(body["support"]["verdict"])
        ids = {"conversation": body["conversation_id"]}
        (turn,) = visitor.call("get", "/conversations/{conversation}", ids=ids).json()["turns"]
        assert turn["support"] == body["support"]
    assert verdicts[1:] == ["unsupported", "uncited"]


def test_refusals_and_failures_are_described(visitor, settings):
    """S9-S12, D28: each status that can be brought about."""
    question = {"agent": "depot", "question": "When do parcels leave?"}
    stream = {"Accept": "text/event-stream"}
    assert visitor.call("post", "/question", body=question | {"question": " "}).status_code == 400
    assert visitor.call("post", "/question", body=question | {"agent": "x"}).status_code == 404
    long = question | {"page": {"path": "x" * 100_000}}
    assert visitor.call("post", "/question", body=long).status_code == 413
    plain = {"Content-Type": "text/plain"}
    assert visitor.call("post", "/question", data="q", headers=plain).status_code == 415
    with scripted(lambda messages: fail(RuntimeError("planned"))):
        assert visitor.call("post", "/question", body=question).status_code == 500
        failed = frames(visitor.call("post", "/question", body=question, headers=stream))
    assert failed[-1].kind == "error"
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"RUN_SECONDS": 1.0}
    with scripted(lambda messages: Reply(deltas=["On Friday [1]. "], hang_seconds=30)):
        timed_out = frames(visitor.call("post", "/question", body=question, headers=stream))
    assert timed_out[-1].data["code"] == "model_timeout"
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"BUDGETS": {"site": {"questions": 0}}}
    assert visitor.call("post", "/question", body=question).status_code == 429
    assert visitor.call("post", "/runs/{run}/stop", ids={"run": NOBODY}).status_code == 404
    visitor.session.headers["X-CSRFToken"] = "wrong"
    assert visitor.call("post", "/question", body=question).status_code == 403


def test_trace_ids_are_described(agent, live_server):
    """D21, D27, D29."""
    user = User.objects.create_user("tracer")
    user.user_permissions.add(Permission.objects.get(codename="view_ai_answers_traces"))
    visitor = Visitor(live_server.url, user)
    question = {"agent": "depot", "question": "When do parcels leave?"}
    with scripted(say(ANSWER), say(ANSWER)):
        body = visitor.call("post", "/question", body=question).json()
        headers = {"Accept": "text/event-stream"}
        done = frames(visitor.call("post", "/question", body=question, headers=headers))[-1]
    assert {"log_id", "trace_id"} <= body.keys() and {"log_id", "trace_id"} <= done.data.keys()
