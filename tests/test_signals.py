import asyncio
import gc
import threading
import time

import pytest

from ai_answers.signals import PrioritySignal, light


def test_receivers_run_by_priority_then_in_order_of_connection_sync_and_async_mixed():
    """S36, S39: one strict order, whatever kind a receiver is."""
    signal, calls = PrioritySignal(), []

    def first(**kwargs):
        calls.append("first")

    async def second(**kwargs):
        await asyncio.sleep(0.01)
        calls.append("second")

    @light
    def third(**kwargs):
        calls.append("third")

    async def last(**kwargs):
        calls.append("last")

    for receiver, priority in ((second, 0), (third, 0), (last, -5), (first, 10)):
        signal.connect(receiver, priority=priority)
    asyncio.run(signal.asend("sender"))
    assert calls == ["first", "second", "third", "last"]


def test_a_receiver_is_held_weakly_and_counts_once():
    signal, calls = PrioritySignal(), []

    def receiver(**kwargs):
        calls.append(kwargs["sender"])

    signal.connect(receiver)
    signal.connect(receiver, priority=3)
    signal.send("a")
    assert calls == ["a"] and signal.disconnect(receiver) and not signal.disconnect(receiver)
    signal.connect(receiver)
    del receiver
    gc.collect()
    assert signal.send("b") == []


def test_an_error_reaches_the_sender_unless_the_signal_is_robust(caplog):
    def bad(**kwargs):
        raise ValueError("no")

    def good(**kwargs):
        return "yes"

    strict, robust = PrioritySignal(), PrioritySignal(robust=True)
    for signal in (strict, robust):
        signal.connect(bad, priority=1)
        signal.connect(good)
    with pytest.raises(ValueError, match="no"):
        strict.send("x")
    results = [result for _, result in asyncio.run(robust.asend("x"))]
    assert isinstance(results[0], ValueError) and results[1] == "yes"
    assert "failed" in caplog.text


def test_an_async_receiver_of_a_sync_send_is_an_error():
    signal = PrioritySignal()

    async def receiver(**kwargs):
        pass

    signal.connect(receiver)
    with pytest.raises(TypeError, match="async"):
        signal.send("x")


def test_a_bound_method_lives_as_long_as_its_object():
    class Listener:
        heard = 0

        def hear(self, **kwargs):
            self.heard += 1

    signal, listener = PrioritySignal(), Listener()
    signal.connect(listener.hear)
    signal.send("x")
    assert listener.heard == 1
    del listener
    gc.collect()
    assert signal.send("x") == []


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_receiver_that_hangs_is_left_behind(kind, settings, caplog):
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "TOOL_SECONDS": 0.2}
    release, heard = threading.Event(), []

    def wait(**kwargs):
        release.wait(20)

    async def wait_async(**kwargs):
        await asyncio.sleep(20)

    def after(**kwargs):
        heard.append(1)

    receiver = {"sync": wait, "async": wait_async}[kind]
    strict, robust = PrioritySignal(), PrioritySignal(robust=True)
    for signal in (strict, robust):
        signal.connect(receiver, priority=1)
        signal.connect(after)
    begun = time.monotonic()
    try:
        with pytest.raises(TimeoutError, match="TOOL_SECONDS"):
            asyncio.run(strict.asend("x"))
        assert heard == []
        asyncio.run(robust.asend("x"))
    finally:
        release.set()
    assert heard == [1]
    assert time.monotonic() - begun < 5
    assert "failed" in caplog.text


def test_a_failing_receiver_is_named_without_its_words(caplog):
    words = "what the visitor asked"

    class Listener:
        def __repr__(self):
            return words

        def hear(self, **kwargs):
            raise ValueError(words)

    signal, listener = PrioritySignal(robust=True), Listener()
    signal.connect(listener.hear)
    asyncio.run(signal.asend("x"))
    signal.send("x")
    assert caplog.text.count("Listener.hear") >= 2
    assert "ValueError" in caplog.text and words not in caplog.text
