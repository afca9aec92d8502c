import contextlib

import pytest

from ai_answers import signals
from ai_answers.tools import register_tool, unregister_tool


@pytest.fixture
def offer():
    """Register tools for one test."""
    names = []

    def register(tool, **options):
        names.append(register_tool(tool, **options).name)
        return tool

    yield register
    for name in names:
        unregister_tool(name)


@pytest.fixture
def listen():
    """Connect receivers for one test: ``listen(signal, receiver, priority=…)``."""
    with contextlib.ExitStack() as stack:

        def connect(signal, receiver, **options):
            signal.connect(receiver, **options)
            stack.callback(signal.disconnect, receiver)

        yield connect


@pytest.fixture
def heard(listen):
    """Record every signal of the run: ``(name, named arguments)``."""
    log = []
    receivers = []
    for name in ("agent_started", "tool_pre_execute", "tool_finished", "agent_finished"):

        def receive(sender, name=name, **named):
            log.append((name, {"sender": sender, **named}))

        receivers.append(receive)
        listen(getattr(signals, name), signals.light(receive), priority=-1000)
    return log
