"""Traces and scores in Langfuse: what really leaves, at a real HTTP endpoint that records it."""

import base64
import datetime
import json
import logging
import subprocess
import sys
import textwrap

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ai_answers.answers import tracing
from ai_answers.answers.tracing import Vote
from ai_answers.chat_models.scripted import say, scripted
from ai_answers.contrib.langfuse import LangfuseTracer
from ai_answers.contrib.langfuse.outbox import Outbox
from ai_answers.exceptions import ConfigurationError
from ai_answers.models import Agent, Feedback, Turn

from ..recording_server import RecordingServer, wait_until

ANSWER = "They leave on Friday at six [1]."
SCORES = "/api/public/scores"
SPANS = "/api/public/otel/v1/traces"
KEYS = {"public_key": "pk-lf-1", "secret_key": "sk-lf-2"}
LOGIN = "Basic " + base64.b64encode(b"pk-lf-1:sk-lf-2").decode()


def tracing_to(settings, server, **options):
    tracer = {
        "BACKEND": "ai_answers.contrib.langfuse.LangfuseTracer",
        "OPTIONS": {**KEYS, "host": server.url, "timeout_seconds": 2, **options},
    }
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"TRACER": tracer}


@pytest.fixture
def server():
    with RecordingServer() as server:
        yield server


def ask(visitor):
    with scripted(say(ANSWER)):
        return visitor.ask().json()


def vote(visitor, conversation, **fields):
    body = {"conversation_id": conversation["conversation_id"], "turn": 1, "rating": "up"}
    response = visitor.post("feedback", body | fields)
    assert response.json() == {"status": "recorded"}


def spans_in(request):
    (batch,) = ExportTraceServiceRequest.FromString(request.body).resource_spans
    return [span for scope in batch.scope_spans for span in scope.spans]


def a_vote(**fields):
    given = {
        "id": "vote-1",
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "is_positive": True,
        "reasons": (),
        "comment": "",
        "given_at": datetime.datetime(2030, 1, 2, tzinfo=datetime.UTC),
    }
    return Vote(**given | fields)


def test_a_vote_scores_the_trace_of_its_turn_and_a_changed_vote_the_same_score(
    visitor, settings, server
):
    """S74, D37."""
    tracing_to(settings, server, environment="staging")
    first = ask(visitor)
    vote(visitor, first, rating="down", reasons=["incomplete"], comment="No times.")
    vote(visitor, first)
    down, up = (json.loads(request.body) for request in server.wait_for(SCORES, 2))
    feedback = Feedback.objects.get()
    assert up == {
        "id": down["id"],
        "traceId": Turn.objects.get().trace_id,
        "name": "user_feedback",
        "value": 1,
        "dataType": "BOOLEAN",
        "timestamp": feedback.updated_at.isoformat(),
        "metadata": {"reasons": []},
        "environment": "staging",
    }
    assert (down["value"], down["metadata"]) == (0, {"reasons": ["incomplete"]})
    assert "comment" not in down  # nobody's words leave without keep_text
    request = server.to(SCORES)[0]
    assert request.headers["authorization"] == LOGIN
    assert request.headers["content-type"] == "application/json"


def test_with_keep_text_the_comment_goes_along(visitor, settings, server):
    tracing_to(settings, server, keep_text=True)
    vote(visitor, ask(visitor), rating="down", comment="No times.")
    assert json.loads(server.wait_for(SCORES)[0].body)["comment"] == "No times."


def test_the_trace_arrives_by_otlp_with_what_langfuse_reads(visitor, settings, server):
    """The id that the turn keeps is the one Langfuse shows it under."""
    tracing_to(settings, server, environment="staging")
    ask(visitor)
    provider = tracing._tracer()._tracer
    provider.span_processor.force_flush()
    (request,) = server.wait_for(SPANS)
    assert request.headers["authorization"] == LOGIN
    assert request.headers["x-langfuse-ingestion-version"] == "4"
    spans = {span.name: span for span in spans_in(request)}
    assert set(spans) == {"invoke_agent Depot", "execute_tool search", "chat scripted"}
    assert {span.trace_id.hex() for span in spans.values()} == {Turn.objects.get().trace_id}
    run = {a.key: a.value.string_value for a in spans["invoke_agent Depot"].attributes}
    assert run["langfuse.trace.name"] == "Depot" and run["langfuse.environment"] == "staging"
    assert run["session.id"] == run["gen_ai.conversation.id"]


def test_spans_can_be_left_to_the_sites_own_provider(visitor, settings, server):
    tracing_to(settings, server, export=False)
    first = ask(visitor)
    Turn.objects.filter(trace_id=None).update(trace_id="0af7651916cd43dd8448eb211c80319c")
    vote(visitor, first)
    assert server.wait_for(SCORES) and server.to(SPANS) == []


def test_a_turn_that_was_not_traced_is_not_scored(visitor, settings, server):
    """S74: only if a trace id was captured."""
    first = ask(visitor)
    tracing_to(settings, server)
    vote(visitor, first)
    second = ask(visitor)
    vote(visitor, second)
    (request,) = server.wait_for(SCORES)
    assert json.loads(request.body)["traceId"] == Turn.objects.order_by("-pk")[0].trace_id


@pytest.mark.parametrize("status", [401, 404, 500])
def test_an_answer_and_a_vote_are_not_lost_for_langfuse(visitor, settings, status, caplog):
    """D38, D46: refused or broken, it is logged by number alone."""
    with RecordingServer(status) as server:
        tracing_to(settings, server)
        with caplog.at_level(logging.WARNING, logger="ai_answers"):
            first = ask(visitor)
            vote(visitor, first, comment="Zebulon")
            wait_until(lambda: f"did not take what was sent: HTTP {status}" in caplog.text)
        assert len(server.to(SCORES)) == (2 if status == 500 else 1)
    assert first["outcome"] == "answered" and Feedback.objects.get().comment == "Zebulon"
    assert "Zebulon" not in caplog.text and "sk-lf-2" not in caplog.text


def test_nobody_waits_for_langfuse(visitor, settings):
    """It takes three seconds over each request; the visitor has long been answered."""
    with RecordingServer(wait_seconds=3) as server:
        tracing_to(settings, server, timeout_seconds=10)
        first = ask(visitor)
        began = datetime.datetime.now(datetime.UTC)
        vote(visitor, first)
        assert (datetime.datetime.now(datetime.UTC) - began).total_seconds() < 2
        server.wait_for(SCORES)


def test_a_score_is_tried_twice():
    with RecordingServer(500, 200) as server:
        tracer = LangfuseTracer(**KEYS, host=server.url, export=False)
        tracer.score(a_vote())
        first, again = server.wait_for(SCORES, 2)
        assert first.body == again.body and tracer._scores.flush()


def test_the_key_follows_no_redirect():
    with RecordingServer(307) as server:
        tracer = LangfuseTracer(**KEYS, host=server.url, export=False)
        tracer.score(a_vote())
        assert tracer._scores.flush()
        assert server.to("/elsewhere") == [] and len(server.to(SCORES)) == 1


def test_an_outbox_that_is_full_drops_what_comes_on_top(caplog):
    with RecordingServer(wait_seconds=0.5) as server:
        outbox = Outbox(server.url, headers={}, timeout_seconds=5, most_waiting=2)
        for number in range(6):
            outbox.put({"number": number})
        assert outbox.flush(10) and 2 <= len(server.requests) <= 3
    assert "2 wait for" in caplog.text


def test_what_waits_at_exit_still_leaves():
    """A worker that is recycled takes no vote with it."""
    with RecordingServer(wait_seconds=0.3) as server:
        code = f"""
            import datetime, django
            django.setup()
            from ai_answers.answers.tracing import Vote
            from ai_answers.contrib.langfuse import LangfuseTracer
            tracer = LangfuseTracer(public_key="p", secret_key="s", host={server.url!r})
            for number in range(3):
                tracer.score(Vote(id=str(number), trace_id="t", is_positive=True, reasons=(),
                                  comment="", given_at=datetime.datetime.now(datetime.UTC)))
        """
        environment = {"DJANGO_SETTINGS_MODULE": "tests.settings", "PYTHONPATH": ":".join(sys.path)}
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)], check=True, env=environment, timeout=60
        )
        assert [json.loads(r.body)["id"] for r in server.to(SCORES)] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("options", "named"),
    [({"public_key": ""}, "'public_key'"), ({"secret_key": " "}, "'secret_key'"),
     ({"host": "cloud.langfuse.com"}, "http"), ({"host": "file:///etc"}, "http")],
)  # fmt: skip
def test_a_wrong_option_says_what_is_right(options, named):
    with pytest.raises(ConfigurationError, match=named) as refused:
        LangfuseTracer(**{**KEYS, **options})
    assert "sk-lf" not in str(refused.value)


def test_a_tracer_that_is_set_up_wrong_costs_no_answer(visitor, settings, server, caplog):
    """D46."""
    tracing_to(settings, server, public_key="")
    body = ask(visitor)
    assert body["outcome"] == "answered" and Agent.objects.exists()
    assert Turn.objects.get().trace_id is None and "ConfigurationError" in caplog.text
