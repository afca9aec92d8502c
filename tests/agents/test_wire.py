"""The agent against a real HTTP server that speaks the OpenAI protocol, through ``ChatOpenAI``."""

import asyncio
import json
import time

import pytest
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from ai_answers.chat_models import get_chat_model
from ai_answers.events import RoundFinished, TextDelta
from ai_answers.exceptions import ModelFailed, ModelTimeout
from ai_answers.runs.loop import submit
from ai_answers.values import Usage

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
    usage_chunk,
)
from .runs import collect, make_agent, run, text_of_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def serve(settings):
    """Start a server with planned replies and point the alias ``local`` at it."""
    servers = []

    def start(*replies, **options):
        server = OpenAIServer(*replies)
        servers.append(server.__enter__())
        settings.AI_ANSWERS = {
            **settings.AI_ANSWERS,
            "FIRST_CONTENT_SECONDS": 5,
            "CHAT_MODELS": {
                "local": {
                    "BACKEND": "langchain_openai.ChatOpenAI",
                    "OPTIONS": {
                        "model": "local",
                        "base_url": server.base_url,
                        "api_key": "test-key",
                        **options,
                    },
                }
            },
        }
        return server

    yield start
    for server in servers:
        server.__exit__(None, None, None)


def local_agent(**fields):
    return make_agent(chat_model="local", **fields)


def test_an_answer_arrives_in_deltas_with_its_usage(serve):
    server = serve(text("From nine to five."))
    events = run(local_agent(instructions="You help."), "When?")

    assert text_of_run(events) == "From nine to five."
    assert sum(isinstance(e, TextDelta) for e in events) == 4
    usage = Usage(input_tokens=11, output_tokens=7)
    assert events[-1] == RoundFinished(usage=usage, finish_reason="stop")
    body = server.requests[0].body
    assert body["stream_options"] == {"include_usage": True}
    assert [m["role"] for m in body["messages"]] == ["system", "user"]
    assert server.requests[0].headers["authorization"] == "Bearer test-key"


def test_a_server_that_refuses_usage_can_be_spared(serve):
    server = serve(text("From nine.", usage=None), stream_usage=False)
    events = run(local_agent())

    assert "stream_options" not in server.requests[0].body
    assert events[-1].usage.output_tokens > 0


def test_overrides_of_the_agent_are_sent(serve):
    """D3."""
    server = serve(text("Yes."))
    run(local_agent(model_name="large", temperature=0.25, max_output_tokens=50))

    body = server.requests[0].body
    assert body["model"] == "large"
    assert body["temperature"] == 0.25
    assert body["max_completion_tokens"] == 50


def test_two_tool_calls_in_one_reply_go_there_and_back(serve, offer):
    @tool
    async def hours(day: str) -> str:
        """Tell the opening hours."""
        return f"{day}: nine"

    offer(hours)
    calls = tool_calls(("hours", '{"day": "Mon"}'), ("hours", '{"day": "Tue"}'), before="Looking.")
    server = serve(calls, text("Nine."))
    events = run(local_agent(tools=["hours"]))

    assert text_of_run(events) == "Looking.\n\nNine."
    first, second = (r.body for r in server.requests)
    assert first["tools"][0]["function"]["name"] == "hours"
    asked, *results = second["messages"][-3:]
    assert [json.loads(c["function"]["arguments"]) for c in asked["tool_calls"]] == [
        {"day": "Mon"},
        {"day": "Tue"},
    ]
    assert [m["tool_call_id"] for m in results] == [c["id"] for c in asked["tool_calls"]]
    assert [m["content"] for m in results] == ["Mon: nine", "Tue: nine"]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (status(401), "model_auth"),
        (status(404, code="model_not_found"), "model_not_found"),
        (status(400, code="context_length_exceeded"), "context_overflow"),
        (status(400, code="content_filter"), "content_filter"),
    ],
)
def test_a_refusal_is_told_by_its_code_and_not_tried_again(serve, reply, code):
    server = serve(reply)
    with pytest.raises(ModelFailed) as caught:
        run(local_agent())

    assert caught.value.code == code
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("number", "code"), [(429, "model_rate_limited"), (500, "model_overloaded")]
)
def test_an_overload_is_tried_again_within_limits(serve, number, code):
    server = serve(status(number, headers={"retry-after-ms": "20"}))
    with pytest.raises(ModelFailed) as caught:
        run(local_agent())

    assert caught.value.code == code
    assert len(server.requests) == 3


def test_a_retry_before_the_first_content_goes_unnoticed(serve):
    server = serve(status(429, headers={"retry-after": "1"}), text("Nine."))
    events = run(local_agent())

    assert text_of_run(events) == "Nine."
    assert server.requests[1].at - server.requests[0].at >= 0.9


def test_a_server_that_is_not_there_is_unreachable(serve):
    server = serve(text("Never."), max_retries=0)
    server.__exit__(None, None, None)
    with pytest.raises(ModelFailed) as caught:
        run(local_agent())

    assert caught.value.code == "model_unreachable"


def test_a_stall_with_keep_alives_is_given_up_and_the_connection_closed(serve, settings):
    """The client library's own timeouts never see this one."""
    steps = [chunk(content="Nine "), Wait(seconds=20, keep_alive_seconds=0.1)]
    server = serve(Stream(steps=steps))
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "IDLE_CONTENT_SECONDS": 0.5}
    events = []
    begun = time.monotonic()
    with pytest.raises(ModelTimeout):
        run(local_agent(), into=events)

    assert time.monotonic() - begun < 3
    assert text_of_run(events) == "Nine "
    assert server.gone.wait(1)
    assert len(server.requests) == 1


def test_silence_before_the_first_content_is_given_up(serve, settings):
    server = serve(Stream(steps=[Wait(seconds=20)]))
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "FIRST_CONTENT_SECONDS": 0.5}
    with pytest.raises(ModelTimeout):
        run(local_agent())

    assert server.gone.wait(1)


@pytest.mark.parametrize("options", [{}, {"stream_chunk_timeout": 60}], ids=["ours", "its own"])
def test_a_cancellation_is_not_lost_between_two_chunks(serve, options):
    """The package waits with ``asyncio.wait_for``, which may swallow it before Python 3.12."""
    server = serve(text("never ending " * 100, delay_seconds=0.02), **options)
    agent = local_agent()

    async def cancel(after_seconds):
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(after_seconds):
                await collect(agent)
        return time.monotonic() - begun - after_seconds

    # Whether it is lost is a matter of milliseconds, so at several moments.
    late = [submit(cancel(0.8 + number / 500)).result(60) for number in range(8)]
    assert max(late) < 1 and server.requests


def test_cancelling_closes_the_connection_within_a_second(serve):
    server = serve(text("never ending " * 200, delay_seconds=0.03))
    agent = local_agent()

    async def cancel():
        events = []
        task = asyncio.create_task(collect(agent, into=events))
        while not any(isinstance(e, TextDelta) for e in events):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        task.cancel()
        begun = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        gone = await asyncio.to_thread(server.gone.wait, 2)
        return gone, server.requests[0].disconnected_at - begun

    gone, seconds = submit(cancel()).result(60)
    assert gone
    assert seconds < 1


@pytest.mark.parametrize(
    "steps",
    [
        [chunk(content="Half"), Cut],
        [chunk(content="Half"), chunk(content=" an answer")],  # no reason for the end
        [chunk(content="Half"), Raw(b"data: {not json\n\n")],
        [chunk(content="Half"), Raw(b'data: {"error": {"message": "overloaded"}}\n\n')],
    ],
)
def test_a_stream_that_breaks_off_is_a_failure_and_its_text_is_kept(serve, steps):
    server = serve(Stream(steps=steps, done=False))
    events = []
    with pytest.raises(ModelFailed):
        run(local_agent(), into=events)

    assert text_of_run(events).startswith("Half")
    assert len(server.requests) == 1  # never asked again once something was shown


def test_strange_chunks_do_not_disturb_an_answer(serve):
    steps = [
        {**chunk(), "choices": []},
        {**chunk(), "choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
        chunk(role="assistant"),
        Raw(b": keep-alive\n\n"),
        chunk(content=None),
        chunk(content="Ni", refusal=None, logprobs=None),
        Raw(b"\n"),
        chunk(reasoning_content="hm", content=""),
        chunk(content="ne."),
        {**chunk(finish_reason="stop"), "model": None, "unknown": {"a": 1}},
        usage_chunk(),
    ]
    serve(Stream(steps=steps))
    assert text_of_run(run(local_agent())) == "Nine."


def test_a_page_in_place_of_a_stream_is_a_failure(serve):
    serve(Stream(steps=[Raw(b"<html>hello</html>")], done=False))
    with pytest.raises(ModelFailed):
        run(local_agent())


def test_a_line_left_open_after_the_end_is_not_waited_for(serve):
    steps = [chunk(content="Nine."), chunk(finish_reason="stop"), Raw(b"data: [DONE]\n\n")]
    serve(Stream(steps=[*steps, Wait(seconds=10)], done=False))
    begun = time.monotonic()
    assert text_of_run(run(local_agent())) == "Nine."
    assert time.monotonic() - begun < 3


def test_the_sites_own_use_of_the_same_endpoint_on_another_loop_does_no_harm(settings):
    """langchain-openai shares one HTTP client among models with the same address."""
    with OpenAIServer(text("Hello there.")) as server:
        options = {"model": "local", "base_url": server.base_url, "api_key": "none"}
        entry = {"BACKEND": "langchain_openai.ChatOpenAI", "OPTIONS": options}
        settings.AI_ANSWERS = settings.AI_ANSWERS | {"CHAT_MODELS": {"default": entry}}

        async def hear(model):
            return "".join([chunk.text async for chunk in model.astream("Hello?")])

        elsewhere, site = asyncio.new_event_loop(), ChatOpenAI(**options)
        try:
            for _ in range(2):
                assert elsewhere.run_until_complete(hear(site)) == "Hello there."
                assert submit(hear(get_chat_model())).result(20) == "Hello there."
        finally:
            elsewhere.run_until_complete(site.root_async_client.close())
            elsewhere.run_until_complete(elsewhere.shutdown_asyncgens())
            elsewhere.close()
