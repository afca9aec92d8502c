"""What can go wrong with a chat model, each from a real HTTP server to what the visitor gets.

A row says what the server does and what has to come of it: outcome, code, whether asking again
may help, the visitor's message, what the log says, what is saved, and how many requests were made.
"""

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.tools import tool

from ai_answers.chat_models import get_chat_model
from ai_answers.models import Agent, AgentTool, BudgetDay, Run, Turn

from ..api.conftest import Api
from ..content import make_agent, make_pages
from ..openai_server import (
    Cut,
    OpenAIServer,
    Raw,
    Stream,
    Wait,
    chunk,
    status,
    text,
    tool_calls,
)
from ..sse import frames_of

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "sk-canary"
QUESTION = "When do parcels leave the canary depot?"
QUOTED = f"You asked: {QUESTION} with the key {SECRET}"
"""What a provider may say of an error: neither the visitor nor a log may get it."""

SORRY = "Something went wrong. Please try again later."
NOT_NOW = "Questions cannot be answered here at the moment."
BUSY = "Too many questions are being asked. Please try again in a minute."
SLOW = "The answer took too long. Please try again."
REFUSED = "This question cannot be answered here."
TOO_LONG = "This conversation is too long. Please start a new one."

PIECES = [chunk(role="assistant", content=""), chunk(content="On "), chunk(content="Friday")]


def error(number, /, **fields):
    """Plan an HTTP error that quotes what it got, and asks to come back at once."""
    return status(number, headers={"retry-after-ms": "20"}, message=QUOTED, **fields)


def stream(*steps, done=False):
    return Stream(steps=steps, done=done)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One row."""

    name: str
    does: Any
    """Replies of the server; ``None``: nothing listens at its address."""
    settings: dict[str, Any] = field(default_factory=dict)
    code: str
    outcome: str = "failed"
    retryable: bool = True
    message: str = SORRY
    log: str
    saved: str = ""
    """The text that had been written."""
    requests: int = 1
    seconds: float = 5
    """The visitor waits for less than that."""


FAULTS = [
    Fault(
        name="nothing listens",
        does=None,
        code="model_unreachable",
        log="ConnectionError",
        requests=0,
    ),
    Fault(
        name="401, a wrong key",
        does=[error(401, code="invalid_api_key")],
        code="model_auth",
        retryable=False,
        message=NOT_NOW,
        log="AuthenticationError, status 401",
    ),
    Fault(
        name="403, a forbidden region",
        does=[error(403)],
        code="model_auth",
        retryable=False,
        message=NOT_NOW,
        log="PermissionDeniedError, status 403",
    ),
    Fault(
        name="404, a model that is not there",
        does=[error(404, code="model_not_found")],
        code="model_not_found",
        retryable=False,
        message=NOT_NOW,
        log="NotFoundError, status 404",
    ),
    Fault(
        name="429 for as long as it is asked",
        does=[error(429)],
        code="model_rate_limited",
        message=BUSY,
        log="RateLimitError, status 429",
        requests=3,
    ),
    Fault(
        name="500 for as long as it is asked",
        does=[error(500)],
        code="model_overloaded",
        log="status 500",
        requests=3,
    ),
    Fault(
        name="400, a request it does not understand",
        does=[error(400)],
        code="model_failed",
        log="status 400",
    ),
    Fault(
        name="400, the prompt is too long for it",
        does=[error(400, code="context_length_exceeded")],
        code="context_overflow",
        retryable=False,
        message=TOO_LONG,
        log="status 400",
    ),
    Fault(
        name="400, its content filter says no",
        does=[error(400, code="content_filter")],
        code="content_filter",
        outcome="refused",
        retryable=False,
        message=REFUSED,
        log="status 400",
    ),
    Fault(
        name="an error page of a proxy",
        does=[error(502)],
        code="model_overloaded",
        log="status 502",
        requests=3,
    ),
    Fault(
        name="a web page in place of a stream",
        does=[stream(Raw(f"<html>{QUOTED}</html>".encode()))],
        code="model_failed",
        log="The chat model failed",
    ),
    Fault(
        name="silence before the first content",
        does=[stream(Wait(seconds=20))],
        settings={"FIRST_CONTENT_SECONDS": 0.5},
        code="model_timeout",
        message=SLOW,
        log="too long to its first content",
    ),
    Fault(
        name="keep-alives and no content",
        does=[stream(PIECES[0], Wait(seconds=20, keep_alive_seconds=0.1))],
        settings={"FIRST_CONTENT_SECONDS": 0.5},
        code="model_timeout",
        message=SLOW,
        log="too long to its first content",
    ),
    Fault(
        name="a stall in the middle, with keep-alives",
        does=[stream(*PIECES, Wait(seconds=20, keep_alive_seconds=0.1))],
        settings={"IDLE_CONTENT_SECONDS": 0.5},
        code="model_timeout",
        message=SLOW,
        log="too long between two pieces of content",
        saved="On Friday",
    ),
    Fault(
        name="an answer without end",
        does=[text("never ending " * 500, delay_seconds=0.02)],
        settings={"RUN_SECONDS": 2},
        code="model_timeout",
        message=SLOW,
        log="longer than RUN_SECONDS",
        saved="never ending never",
    ),
    Fault(
        name="a connection cut in the middle",
        does=[stream(*PIECES, Cut)],
        code="model_unreachable",
        log="The chat model failed",
        saved="On Friday",
    ),
    Fault(
        name="an end without a reason",
        does=[stream(*PIECES, done=True)],
        code="model_unreachable",
        log="stream was cut off",
        saved="On Friday",
    ),
    Fault(
        name="a garbage line",
        does=[stream(*PIECES, Raw(f"data: {{{QUOTED}\n\n".encode()))],
        code="model_failed",
        log="JSONDecodeError",
        saved="On Friday",
    ),
    Fault(
        name="an error event in the middle",
        does=[stream(*PIECES, {"error": {"message": QUOTED}})],
        code="model_failed",
        log="The chat model failed",
        saved="On Friday",
    ),
    Fault(
        name="chunks without choices, and nothing else",
        does=[stream({**chunk(), "choices": []}, {**chunk(), "choices": []})],
        code="model_unreachable",
        log="stream was cut off",
        requests=3,
    ),
    Fault(
        name="a connection cut before the first content",
        does=[stream(PIECES[0], Cut)],
        code="model_unreachable",
        log="ConnectionError",
        requests=3,
    ),
    Fault(
        name="429, and a pause that is longer than the time left",
        does=[status(429, headers={"retry-after": "60"}, message=QUOTED)],
        code="model_rate_limited",
        message=BUSY,
        log="status 429",
    ),
    Fault(
        name="429, because the account is empty",
        does=[error(429, code="insufficient_quota")],
        code="model_auth",
        retryable=False,
        message=NOT_NOW,
        log="code 'insufficient_quota'",
    ),
    Fault(
        name="its content filter ends the answer",
        does=[stream(*PIECES, chunk(finish_reason="content_filter"), done=True)],
        code="content_filter",
        outcome="refused",
        retryable=False,
        message=REFUSED,
        log="content filter",
        saved="On Friday",
    ),
    Fault(
        name="a refusal in a field of its own",
        does=[stream(PIECES[0], chunk(refusal=QUOTED), chunk(finish_reason="stop"), done=True)],
        code="content_filter",
        outcome="refused",
        retryable=False,
        message=REFUSED,
        log="refused to answer",
    ),
    Fault(
        name="its output limit is reached while it thinks",
        does=[stream(chunk(reasoning_content="Hm"), chunk(finish_reason="length"), done=True)],
        code="model_failed",
        log="reached its output limit before any text",
    ),
]


@pytest.fixture
def serve(settings):
    """Start a server with planned replies and point the alias ``local`` at it."""
    servers = []

    def start(*replies, options=None, **more):
        server = OpenAIServer(*replies).__enter__()
        servers.append(server)
        entry = {
            "BACKEND": "langchain_openai.ChatOpenAI",
            "OPTIONS": {"model": "m", "base_url": server.base_url, "api_key": SECRET},
        }
        entry["OPTIONS"] |= options or {}
        models = {**settings.AI_ANSWERS["CHAT_MODELS"], "local": entry}
        settings.AI_ANSWERS = settings.AI_ANSWERS | {"CHAT_MODELS": models} | more
        get_chat_model("local")  # the vendor's package takes seconds to import
        return server

    yield start
    for server in servers:
        server.__exit__(None, None, None)


@pytest.fixture
def visitor():
    make_pages()
    make_agent(chat_model="local")
    return Api()


def log_of(caplog):
    return "\n".join(
        record.getMessage()
        for record in caplog.records
        if record.levelname not in ("DEBUG", "INFO") and record.name.startswith("ai_answers")
    )


def ask(visitor, *, streamed):
    """Ask and return ``(kind, data)`` of what ended it, and the text a reader had by then."""
    response = visitor.ask(QUESTION, stream=streamed)
    if not streamed:
        return response.status_code, response.json()
    frames = frames_of(response)
    read = "".join(frame.data["text"] for frame in frames if frame.kind == "token")
    assert [f.kind for f in frames if f.kind in ("done", "stopped", "error")] == [frames[-1].kind]
    return frames[-1].kind, frames[-1].data | {"read": read}


@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "json"])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_of_the_model(fault, streamed, serve, visitor, caplog):
    """S12, S33, D28, T15: fixed text for the visitor, the cause in the log, the turn saved."""
    server = serve(*(fault.does or []), **fault.settings)
    if fault.does is None:
        server.__exit__(None, None, None)
    began = time.monotonic()
    kind, data = ask(visitor, streamed=streamed)

    assert time.monotonic() - began < fault.seconds
    if streamed:
        assert kind == "error"
        assert data["read"].startswith(fault.saved)
        said = {name: data[name] for name in ("code", "message", "retryable", "outcome")}
        assert said == {
            "code": fault.code,
            "message": fault.message,
            "retryable": fault.retryable,
            "outcome": fault.outcome,
        }
    else:
        assert kind == 500
        assert data == {"error": {"code": fault.code, "message": fault.message}}
    turn, run = Turn.objects.get(), Run.objects.get()
    assert (turn.outcome, run.status, run.error_code) == (fault.outcome, "ended", fault.code)
    assert turn.question == QUESTION and turn.finished_at
    assert turn.answer.startswith(fault.saved) and bool(turn.answer) == bool(fault.saved)
    assert run.text == turn.answer
    assert set(BudgetDay.objects.values_list("reserved", flat=True)) == {0}
    assert len(server.requests) == fault.requests
    log = log_of(caplog)
    assert fault.log in log and fault.code in log and str(run.pk) in log
    assert "canary" not in log and "canary" not in json.dumps(data | {"question": ""})


@pytest.mark.parametrize(
    ("entry", "log"),
    [
        (None, "has no alias 'local'"),
        ({"OPTIONS": {"api_key": SECRET}}, "must be a dict with a 'BACKEND'"),
        ({"BACKEND": "nowhere.ChatModel"}, "'nowhere.ChatModel', which cannot be imported"),
        (
            {"BACKEND": "langchain_openai.ChatOpenAI", "OPTIONS": {"timeout": SECRET}},
            "could not be built with the options",
        ),
    ],
    ids=["unknown alias", "no backend", "unknown class", "wrong option"],
)
@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "json"])
def test_a_wrong_setting_is_not_offered_a_second_try(
    entry, log, streamed, visitor, settings, caplog
):
    """S12: asking again cannot help; the log says what is wrong with the setting, and no key."""
    models = {"local": entry} if entry else {}
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"CHAT_MODELS": models}
    kind, data = ask(visitor, streamed=streamed)

    if streamed:
        assert kind == "error" and not data["retryable"]
        assert (data["code"], data["message"]) == ("not_configured", NOT_NOW)
    else:
        assert (kind, data["error"]["code"]) == (500, "not_configured")
    turn, run = Turn.objects.get(), Run.objects.get()
    assert (turn.outcome, run.error_code) == ("failed", "not_configured")
    assert log in log_of(caplog) and SECRET not in log_of(caplog)


@tool
async def flies(day: str) -> str:
    """Break."""
    raise ValueError(QUOTED)


@tool
async def hangs(day: str) -> str:
    """Never answer."""
    await asyncio.sleep(60)


@tool
def clock(day: str) -> str:
    """Tell the time."""
    return f"{day}: nine"


DAY = '{"day": "Mon"}'
DAYS = [("clock", json.dumps({"day": str(number)})) for number in range(30)]
TOOL_FAULTS = {
    "unknown tool": ([("rm", DAY)], ["There is no tool of this name. Tools: search, "]),
    "invalid JSON": ([("clock", '{"day": "Mon"')], ["The arguments were not a JSON object."]),
    "a list in place of arguments": ([("clock", "[1]")], ["The arguments were not a JSON"]),
    "missing argument": ([("clock", "{}")], ["These arguments are missing or wrong: day."]),
    "raises": ([("flies", DAY)], ["The tool failed. Go on without it."]),
    "hangs": ([("hangs", DAY)], ["The tool took too long."]),
    "30 at once": (DAYS, ["0: nine", *[""] * 7, "Not carried out: too many tool calls at once."]),
}


@pytest.mark.parametrize("fault", TOOL_FAULTS)
def test_a_fault_of_a_tool_call_costs_no_answer(fault, serve, visitor, offer, caplog):
    """T4, T15: the model is told what went wrong and answers; no words of an exception get out."""
    calls, said = TOOL_FAULTS[fault]
    for order, made in enumerate((flies, hangs, clock), start=1):
        AgentTool.objects.create(agent=Agent.objects.get(), tool=offer(made).name, order=order)
    server = serve(tool_calls(*calls), text("At nine [1]."), TOOL_SECONDS=3)
    kind, data = ask(visitor, streamed=True)

    assert (kind, data["text"], data["outcome"]) == ("done", "At nine[1].", "answered")
    results = [m["content"] for m in server.requests[1].body["messages"] if m["role"] == "tool"]
    assert len(results) == len(calls)
    for result, beginning in zip(results, said, strict=False):
        assert result.startswith(beginning)
    assert "canary" not in "".join(results) and "canary" not in log_of(caplog)


def test_a_model_that_only_calls_tools_is_made_to_answer(serve, visitor, offer):
    """T15, T19: the last round has no tools; one that calls on all the same ends without text."""
    AgentTool.objects.create(agent=Agent.objects.get(), tool=offer(clock).name, order=1)
    server = serve(*[tool_calls(("clock", json.dumps({"day": str(n)}))) for n in range(9)])
    kind, data = ask(visitor, streamed=True)

    assert (kind, data["outcome"]) == ("done", "no_answer")
    assert len(server.requests) == 4
    assert ["tools" in request.body for request in server.requests] == [True, True, True, False]


def test_an_answer_that_is_cut_at_the_output_limit_stays_and_is_noted(serve, visitor):
    cut = [*PIECES, chunk(content=" [1]"), chunk(finish_reason="length")]
    serve(stream(*cut, done=True))
    kind, data = ask(visitor, streamed=True)

    assert (kind, data["text"], data["outcome"]) == ("done", "On Friday[1]", "answered")
    assert Run.objects.get().notes == ["The chat model stopped at its output limit."]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_a_model_that_thinks_aloud_is_not_given_up(serve, visitor, name):
    """Its thoughts are no answer, but content; without usage they are counted."""
    thoughts = [Wait(seconds=0.3), chunk(**{name: "Let me see now."})] * 6
    answer = [chunk(content="On Friday [1]."), chunk(finish_reason="stop")]
    serve(stream(*thoughts, *answer, done=True), FIRST_CONTENT_SECONDS=1.2)
    kind, data = ask(visitor, streamed=True)

    assert (kind, data["text"], data["outcome"]) == ("done", "On Friday[1].", "answered")
    assert data["usage"]["output_tokens"] > 20
