"""The loop thread outlives what is raised on it."""

import asyncio
import logging
import threading

import pytest

from ai_answers.chat_models import get_chat_model
from ai_answers.runs.loop import run_loop, submit


async def alive():
    return "alive"


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_what_a_task_raises_does_not_end_the_loop(error, caplog):
    async def leave():
        raise error

    loop = run_loop()
    with caplog.at_level(logging.ERROR):
        with pytest.raises(error):
            submit(leave()).result(10)
        assert submit(alive()).result(10) == "alive"

    assert run_loop() is loop
    assert error.__name__ in caplog.text


def test_a_callback_cannot_end_it_either():
    def leave():
        raise SystemExit

    loop = run_loop()
    loop.call_soon_threadsafe(leave)
    assert submit(alive()).result(10) == "alive"
    assert run_loop() is loop


def test_a_loop_that_was_stopped_is_replaced_with_all_that_was_bound_to_it(caplog):
    async def stop():
        asyncio.get_running_loop().stop()

    loop, model = run_loop(), get_chat_model("scripted")
    thread = next(t for t in threading.enumerate() if t.name == "ai_answers-loop")
    submit(stop())
    thread.join(10)
    assert not thread.is_alive()

    assert submit(alive()).result(10) == "alive"
    assert run_loop() is not loop
    assert get_chat_model("scripted") is not model
    assert "another one takes over" in caplog.text
    loop.close()
