"""Timers, errors and cancellation of one model call, with a scripted chat model."""

import asyncio
import time
from contextlib import aclosing

import pytest

from ai_answers.agents.context import running
from ai_answers.agents.errors import MODEL_CODES, model_error
from ai_answers.agents.loop import run_agent
from ai_answers.chat_models.scripted import Reply, fail, say, scripted
from ai_answers.events import TextDelta
from ai_answers.exceptions import AnswersError, ConfigurationError, ModelFailed, ModelTimeout
from ai_answers.values import Usage

from .runs import collect, make_agent, make_context, run, text_of_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def quick_timers(settings):
    settings.AI_ANSWERS = {
        **settings.AI_ANSWERS,
        "FIRST_CONTENT_SECONDS": 0.6,
        "IDLE_CONTENT_SECONDS": 0.4,
    }


def test_a_model_that_never_begins_is_given_up(quick_timers, heard):
    begun = time.monotonic()
    with scripted(say("Late.", first_delay_seconds=5)) as script, pytest.raises(ModelTimeout):
        run(make_agent())

    assert 0.5 < time.monotonic() - begun < 3
    assert script.closed == 1
    assert heard[-1][1]["outcome"] == "failed"


def test_a_model_that_stalls_is_given_up_and_what_it_said_is_kept(quick_timers):
    events = []
    begun = time.monotonic()
    with scripted(say("Only this", hang_seconds=5)), pytest.raises(ModelTimeout) as caught:
        run(make_agent(), into=events)

    assert time.monotonic() - begun < 3
    assert text_of_run(events) == "Only this"
    assert caught.value.code == "model_timeout"
    assert caught.value.retryable


def test_empty_chunks_do_not_count_as_content(quick_timers):
    nothing = Reply(deltas=["Hi"] + [""] * 100, delay_seconds=0.02)
    begun = time.monotonic()
    with scripted(nothing), pytest.raises(ModelTimeout):
        run(make_agent())

    assert time.monotonic() - begun < 1.5


def test_a_slow_but_steady_model_is_left_alone(quick_timers):
    with scripted(say("one two three four five six", delay_seconds=0.1)):
        events = run(make_agent())

    assert text_of_run(events) == "one two three four five six"


def test_a_model_that_thinks_aloud_is_alive(quick_timers):
    thought = [{"type": "reasoning", "reasoning": "hm", "index": 0}]
    deltas = [*[thought] * 6, [{"type": "text", "text": "Nine.", "index": 1}]]
    with scripted(Reply(deltas=deltas, delay_seconds=0.15)):
        events = run(make_agent())

    assert text_of_run(events) == "Nine."


def test_the_time_a_reader_takes_is_not_the_models(quick_timers):
    async def read_slowly():
        seen = []
        async for event in _stream(make):
            if isinstance(event, TextDelta):
                await asyncio.sleep(0.5)
                seen.append(event.text)
        return seen

    make = make_agent()
    with scripted(say("one two three")):
        assert asyncio.run(read_slowly()) == ["one ", "two ", "three"]


async def _stream(agent):
    context = make_context(agent)
    with running(context):
        stream = run_agent(context, history=[], question="Why?", force_search=False)
        async with aclosing(stream) as events:
            async for event in events:
                yield event


def test_cancelling_passes_through_and_closes_the_models_stream(heard):
    async def cancel():
        events = []
        task = asyncio.create_task(collect(agent, into=events))
        while not any(isinstance(e, TextDelta) for e in events):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        task.cancel()
        begun = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - begun, script.closed

    agent = make_agent()
    with scripted(say("never ending " * 50, delay_seconds=0.05)) as script:
        seconds, closed = asyncio.run(cancel())

    assert seconds < 1
    assert closed == 1
    assert heard[-1][0] == "agent_finished"
    assert heard[-1][1]["outcome"] == "stopped"
    assert heard[-1][1]["usage"].input_tokens > 0


def test_leaving_before_the_end_closes_the_models_stream(heard):
    async def leave():
        async with aclosing(_stream(agent)) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    break
        begun = time.monotonic()
        while not script.closed and time.monotonic() - begun < 1:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        return script.closed

    agent = make_agent()
    with scripted(say("never ending " * 50, delay_seconds=0.05)) as script:
        assert asyncio.run(leave()) == 1
    assert heard[-1][1]["outcome"] == "stopped"


class Vendor(Exception):
    def __init__(self, message="", *, status_code=None, code=None):
        super().__init__(message)
        self.status_code = status_code
        self.code = code


class APIConnectionError(Exception):
    pass


class ReadTimeout(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Vendor(status_code=401), "model_auth"),
        (Vendor(status_code=403), "model_auth"),
        (Vendor(status_code=404), "model_not_found"),
        (Vendor(status_code=429), "model_rate_limited"),
        (Vendor(status_code=500), "model_overloaded"),
        (Vendor(status_code=503), "model_overloaded"),
        (Vendor(status_code=529), "model_overloaded"),
        (Vendor(status_code=504), "model_timeout"),
        (Vendor(status_code=400), "model_failed"),
        (Vendor(status_code=400, code="context_length_exceeded"), "context_overflow"),
        (Vendor("the prompt is too long: 9 tokens", status_code=400), "context_overflow"),
        (Vendor(status_code=413), "context_overflow"),
        (Vendor(status_code=400, code="content_filter"), "content_filter"),
        (APIConnectionError(), "model_unreachable"),
        (ConnectionResetError(), "model_unreachable"),
        (ReadTimeout(), "model_timeout"),
        (TimeoutError(), "model_timeout"),
        (ValueError("no chunks"), "model_failed"),
    ],
)
def test_errors_of_any_vendor_get_a_stable_code(error, code):
    """Read off status, code and class names; no vendor is imported for it."""
    with scripted(fail(error)), pytest.raises(AnswersError) as caught:
        run(make_agent())

    assert caught.value.code == code
    assert isinstance(caught.value, ModelTimeout if code == "model_timeout" else ModelFailed)
    assert caught.value.retryable is MODEL_CODES.get(code, True)


def test_a_vendors_own_words_do_not_get_into_the_message():
    error = model_error(Vendor("bad key sk-secret for: what is my salary?", status_code=401))
    assert "sk-secret" not in str(error)
    assert "salary" not in str(error)


def test_the_content_filter_ends_a_run_as_failed():
    events = []
    cut = say("Half of", finish_reason="content_filter")
    with scripted(cut), pytest.raises(ModelFailed) as caught:
        run(make_agent(), into=events)

    assert caught.value.code == "content_filter"
    assert text_of_run(events) == "Half of"


def test_a_refused_call_uses_nothing_and_a_given_up_one_its_prompt(quick_timers, heard):
    with scripted(fail(Vendor(status_code=401))), pytest.raises(ModelFailed):
        run(make_agent("a", instructions="Long enough to count."))
    assert heard[-1][1]["usage"] == Usage()

    with scripted(say("Late.", first_delay_seconds=5)), pytest.raises(ModelTimeout):
        run(make_agent("b", instructions="Long enough to count."))
    assert heard[-1][1]["usage"].input_tokens > 3


def test_an_alias_that_does_not_exist_fails_the_run_with_a_clear_error(heard):
    with pytest.raises(ConfigurationError, match="'nowhere'"):
        run(make_agent(chat_model="nowhere"))
    assert heard[-1][1]["outcome"] == "failed"
