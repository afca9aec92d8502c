"""Spans of runs with the real SDK: what is on them, what never is, and where they hang."""

import json
import re

import pytest
from django.contrib.auth.models import Permission, User
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes
from opentelemetry.trace import SpanKind, StatusCode

from ai_answers.chat_models.scripted import Call, Reply, call, fail, say, scripted
from ai_answers.contrib.otel import attributes as names
from ai_answers.models import Conversation, Run, Turn
from ai_answers.signals import tool_pre_execute
from ai_answers.values import Usage

from ..api.conftest import Api
from ..sse import frames_of

QUESTION = "When do parcels leave, asks Zebulon?"
ANSWER = "They leave on Friday at six [1]."
TRACER = {"BACKEND": "ai_answers.contrib.otel.OpenTelemetryTracer"}


@pytest.fixture(scope="module")
def provider():
    """The process's only one: OpenTelemetry lets nobody replace it."""
    provider = TracerProvider()
    trace.set_tracer_provider(provider)
    return provider


@pytest.fixture
def exporter(provider):
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield exporter
    exporter.shutdown()


@pytest.fixture
def traced(settings, exporter):
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"TRACER": TRACER}
    return exporter


def with_text(settings):
    tracer = TRACER | {"OPTIONS": {"keep_text": True}}
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"TRACER": tracer}


def spans(exporter):
    """Finished spans in the order they began."""
    return sorted(exporter.get_finished_spans(), key=lambda span: span.start_time)


def ask(who, *replies, **fields):
    with scripted(*replies):
        return who.ask(QUESTION, **fields)


def last_frame(who):
    with scripted(say(ANSWER)):
        return frames_of(who.ask(QUESTION, stream=True))[-1]


def test_a_run_is_a_span_with_one_for_each_model_and_tool_call_below(visitor, traced):
    """The GenAI conventions: ``invoke_agent`` → ``execute_tool``, ``chat``."""
    used = Usage(input_tokens=70, output_tokens=9)
    asks = Reply(calls=[Call(name="search", arguments='{"query": "fees"}', id="c1")], usage=used)
    ask(visitor, asks, say(ANSWER, usage=Usage(input_tokens=90, output_tokens=12)))
    run, forced, first, chosen, last = spans(traced)
    assert [span.name for span in (run, forced, first, chosen, last)] == [
        "invoke_agent Depot",
        "execute_tool search",
        "chat scripted",
        "execute_tool search",
        "chat scripted",
    ]
    assert {span.parent.span_id for span in (forced, first, chosen, last)} == {run.context.span_id}
    assert run.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert run.attributes["gen_ai.agent.id"] == "depot" and run.attributes["ai_answers.turn"] == 1
    assert run.attributes["ai_answers.outcome"] == "answered"
    assert "gen_ai.usage.input_tokens" not in run.attributes  # or a sum would count it twice
    assert first.kind == SpanKind.CLIENT
    assert dict(last.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "ai_answers",
        "gen_ai.request.model": "scripted",
        "gen_ai.request.stream": True,
        "gen_ai.conversation.id": run.attributes["gen_ai.conversation.id"],
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.response.time_to_first_chunk": last.attributes[names.FIRST_CHUNK],
        "gen_ai.usage.input_tokens": 90,
        "gen_ai.usage.output_tokens": 12,
        "ai_answers.round": 2,
    }
    assert first.attributes["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert chosen.attributes["gen_ai.tool.name"] == "search"
    assert chosen.attributes["gen_ai.tool.type"] == "datastore"
    assert chosen.attributes["gen_ai.tool.call.id"] == "c1"
    for span in spans(traced):
        assert run.start_time <= span.start_time <= span.end_time <= run.end_time
        assert span.status.status_code == StatusCode.UNSET


def test_the_turn_keeps_the_trace_id_and_only_those_who_may_see_it_get_it(visitor, traced):
    """S69, D21, D27, D29, D32."""
    plain = ask(visitor, say(ANSWER)).json()
    assert "trace_id" not in plain and "log_id" not in plain
    last = last_frame(visitor)
    assert last.kind == "done" and "trace_id" not in last.data and "log_id" not in last.data
    user = User.objects.create_user("editor")
    user.user_permissions.add(
        *Permission.objects.filter(codename__in=["use_ai_answers", "view_ai_answers_traces"])
    )
    editor = Api(user)
    body = ask(editor, say(ANSWER)).json()
    done = last_frame(editor).data
    kept = list(Turn.objects.order_by("pk").values_list("trace_id", flat=True))
    exported = {trace.format_trace_id(span.context.trace_id) for span in spans(traced)}
    assert len(set(kept)) == 4 and set(kept) == exported
    assert [body["trace_id"], done["trace_id"]] == kept[2:]
    assert re.fullmatch("[0-9a-f]{32}", kept[0])


def test_nobodys_words_are_on_spans_unless_the_site_says_so(visitor, traced, settings):
    """``keep_text`` off, the default, whatever the run log keeps: no question, query, source,
    answer or title, and no id that opens a conversation."""
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"LOG_TEXT": True}
    ask(visitor, call("search", query="quokka"), say("Quokka says six [1]."))
    written = "".join(span.to_json() for span in spans(traced))
    for word in ("Zebulon", "quokka", "Quokka", "Friday", "Depot times"):
        assert word not in written
    assert str(Conversation.objects.get().pk) not in written
    assert str(Run.objects.get().pk) not in written


def test_with_keep_text_prompts_calls_and_answers_are_on_them(visitor, traced, settings):
    with_text(settings)
    ask(visitor, call("search", query="fees"), say(ANSWER))
    run, forced, first, _chosen, last = spans(traced)
    said = json.loads(run.attributes["gen_ai.input.messages"])
    assert said == [{"role": "user", "parts": [{"type": "text", "content": QUESTION}]}]
    answer = json.loads(run.attributes["gen_ai.output.messages"])[0]
    assert answer["parts"][0]["content"] == "They leave on Friday at six[1]."
    assert json.loads(forced.attributes["gen_ai.tool.call.arguments"]) == {"query": QUESTION}
    prompt = json.loads(last.attributes["gen_ai.input.messages"])
    assert [message["role"] for message in prompt] == ["system", "user", "assistant", "tool"]
    (asked,) = prompt[2]["parts"]
    assert (asked["type"], asked["name"], asked["arguments"]) == (
        "tool_call", "search", {"query": "fees"}
    )  # fmt: skip
    assert prompt[3]["parts"][0]["type"] == "tool_call_response"
    assert "four euros" in prompt[3]["parts"][0]["response"]
    (written,) = json.loads(last.attributes["gen_ai.output.messages"])
    assert written["parts"][0]["content"] == ANSWER and written["finish_reason"] == "stop"
    assert json.loads(first.attributes["gen_ai.input.messages"])[1]["parts"][0]["content"]


def test_what_fails_says_so_by_a_code_and_not_by_its_message(visitor, traced):
    """D28."""
    ask(visitor, fail(ValueError("secret sk-123 Zebulon")))
    run, _forced, cut = spans(traced)
    for span in (run, cut):
        assert span.status.status_code == StatusCode.ERROR
        assert span.attributes["error.type"] == "model_failed" and not span.events
    assert "sk-123" not in run.to_json() + cut.to_json()
    assert Turn.objects.get().trace_id == trace.format_trace_id(run.context.trace_id)


def test_a_tool_that_fails_is_marked_and_the_run_is_not(visitor, traced):
    def forbid(sender, call, **kwargs):
        raise LookupError("Zebulon")

    tool_pre_execute.connect(forbid)
    try:
        ask(visitor, say(ANSWER))
    finally:
        tool_pre_execute.disconnect(forbid)
    run, *_others = spans(traced)
    failed = [s for s in spans(traced) if s.status.status_code == StatusCode.ERROR]
    assert [(s.name, s.attributes["error.type"]) for s in failed] == [
        ("execute_tool search", "tool_pre_execute: LookupError")
    ]
    assert run.status.status_code == StatusCode.UNSET


def test_a_stopped_run_ends_its_spans_with_what_was_used(visitor, traced):
    with scripted(Reply(deltas=["On Friday ", "[1]. ", "And "], hang_seconds=30)):
        response = visitor.ask(QUESTION, stream=True)
        stream, seen = iter(response.streaming_content), b""
        while b"event: token" not in seen:
            seen += next(stream)
        visitor.post(f"runs/{Run.objects.get().pk}/stop", {})
        b"".join(stream)
    run, _forced, cut = spans(traced)
    assert run.attributes["ai_answers.outcome"] == "stopped"
    assert run.status.status_code == StatusCode.UNSET == cut.status.status_code
    assert cut.attributes["gen_ai.usage.input_tokens"] == Turn.objects.get().usage["input_tokens"]


def test_other_spans_hang_where_they_belong(visitor, traced):
    """Those of a request above the run's, those of an HTTP client below the model call's."""
    tracer = trace.get_tracer("site")

    def answer(messages):
        with tracer.start_as_current_span("POST /v1/chat/completions"):
            return say(ANSWER)

    with tracer.start_as_current_span("POST ai-answers/question"):
        ask(visitor, answer)
        assert trace.get_current_span().name == "POST ai-answers/question"
    found = {span.name: span for span in spans(traced)}
    request, run = found["POST ai-answers/question"], found["invoke_agent Depot"]
    chat, client = found["chat scripted"], found["POST /v1/chat/completions"]
    assert run.parent.span_id == request.context.span_id
    assert client.parent.span_id == chat.context.span_id


def test_runs_in_the_request_leave_nothing_current_behind(visitor, traced, settings):
    runner = "ai_answers.runs.runner.InlineRunner"
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"RUNNER": runner}
    ask(visitor, say(ANSWER))
    ask(visitor, fail(ValueError("no")))
    assert not trace.get_current_span().get_span_context().is_valid
    assert len({span.context.trace_id for span in spans(traced)}) == 2


def test_turns_of_a_conversation_share_its_mark(visitor, traced):
    first = ask(visitor, say(ANSWER)).json()
    ask(visitor, say(ANSWER), conversation_id=first["conversation_id"])
    ask(visitor, say(ANSWER))
    marks = [s.attributes.get("gen_ai.conversation.id") for s in spans(traced) if not s.parent]
    assert marks[0] == marks[1] != marks[2]


def test_without_the_setting_nothing_is_traced(visitor, exporter):
    """Off by default."""
    ask(visitor, say(ANSWER))
    assert spans(exporter) == [] and Turn.objects.get().trace_id is None


def test_without_a_provider_that_keeps_it_there_is_no_trace_id():
    from ai_answers.answers.tracing import RunStart
    from ai_answers.contrib.otel.tracer import SpanTrace

    start = RunStart(
        agent="depot", agent_name="Depot", conversation="c", turn=1, provider="", model="",
        temperature=None, max_output_tokens=None, language="", question="",
    )  # fmt: skip
    assert SpanTrace(trace.NoOpTracer(), start).id == ""


def test_the_names_are_those_of_the_conventions():
    known = {
        value
        for module in (gen_ai_attributes, error_attributes)
        for value in vars(module).values()
        if isinstance(value, str)
    }
    ours = {value for name, value in vars(names).items() if name.isupper() and name[0] != "_"}
    assert {name for name in ours if not name.startswith("ai_answers.")} <= known
