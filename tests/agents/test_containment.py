"""What a site's code and a provider may break: the call, never the loop, and never the log."""

import asyncio
import logging
import threading

import pytest
from langchain_core.tools import BaseTool, tool
from pydantic import BaseModel

from ai_answers import signals
from ai_answers.bursts import THREADS
from ai_answers.chat_models import get_chat_model
from ai_answers.chat_models.scripted import Call, Reply, call, fail, say, scripted
from ai_answers.exceptions import ConfigurationError, ModelFailed, RunFailed
from ai_answers.runs.loop import run_loop

from ..content import make_pages
from .runs import make_agent, run, text_of_run

SECRET = "what-is-my-salary sk-secret-key"


@pytest.fixture
def log(caplog):
    """Return all that was logged above DEBUG, as a handler would print it."""
    caplog.set_level(logging.DEBUG)

    def text():
        records = [r for r in caplog.records if r.levelno > logging.DEBUG]
        return "\n".join(logging.Formatter().format(record) for record in records)

    return text


@tool
def leave() -> str:
    """Leave."""
    raise SystemExit(3)


@tool("leave")
async def leave_async() -> str:
    """Leave."""
    raise SystemExit(3)


@tool("leave")
async def interrupt() -> str:
    """Leave."""
    raise KeyboardInterrupt


@tool("leave")
async def pretend() -> str:
    """Leave."""
    raise asyncio.CancelledError


@tool("leave")
def stop_iteration() -> str:
    """Leave."""
    return next(iter(()))


class Leave(BaseTool):
    name: str = "leave"
    description: str = "Leave."
    args_schema: type[BaseModel] = type("None_", (BaseModel,), {"__module__": __name__})

    def _run(self):
        raise NotImplementedError

    async def _arun(self):
        raise SystemExit(3)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "leaving",
    [leave, leave_async, interrupt, pretend, stop_iteration, Leave()],
    ids=["sync", "async", "interrupt", "cancel", "stop_iteration", "class"],
)
def test_a_tool_that_ends_the_process_only_fails(offer, leaving):
    offer(leaving)
    loop = run_loop()
    with scripted(call("leave"), say("It failed.")) as script:
        events = run(make_agent(tools=["leave"]))

    assert text_of_run(events) == "It failed."
    assert "failed" in script.requests[1].messages[-1].content
    assert run_loop() is loop
    with scripted(say("Alive.")):
        assert text_of_run(run(make_agent("next"))) == "Alive."


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["sync", "async", "light"])
def test_a_receiver_that_ends_the_process_only_fails(listen, kind):
    def leave(**named):
        raise SystemExit

    async def leave_async(**named):
        raise SystemExit

    receivers = {"sync": leave, "async": leave_async, "light": signals.light(lambda **n: exit())}
    receiver = receivers[kind]
    listen(signals.agent_started, receiver)
    with scripted(say("Fine.")):
        assert text_of_run(run(make_agent())) == "Fine."
    listen(signals.pre_system_prompt, receiver)
    with scripted(say("Never.")), pytest.raises(RunFailed):
        run(make_agent("second"))
    assert run_loop().is_running()


@pytest.mark.django_db
def test_a_chat_model_that_ends_the_process_only_fails():
    with scripted(fail(SystemExit(1))), pytest.raises(ModelFailed) as caught:
        run(make_agent())
    assert caught.value.code == "model_failed"


@pytest.mark.django_db(transaction=True)
def test_tools_that_hang_stop_neither_searches_nor_receivers_nor_other_tools(
    offer, listen, settings
):
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "TOOL_SECONDS": 1, "MAX_TOOL_CALLS": 16}
    make_pages()
    release, heard = threading.Event(), []

    @tool
    def hang(number: int) -> str:
        """Hang."""
        release.wait(60)
        return "late"

    @tool
    def quick() -> str:
        """Answer at once."""
        return "quick"

    def receive(sender, call, **named):
        heard.append(call.name)

    offer(hang)
    offer(quick)
    listen(signals.tool_finished, receive)
    all_threads = [Call(name="hang", arguments=f'{{"number": {n}}}') for n in range(THREADS)]
    with_others = [call("search", query="parcels").calls[0], call("quick").calls[0]]
    try:
        agent = make_agent(tools=["hang", "quick", {"tool": "search", "index": "default"}])
        with scripted(Reply(calls=all_threads), Reply(calls=with_others), say("Done.")) as script:
            events = run(agent)
    finally:
        release.set()

    assert text_of_run(events) == "Done."
    found, said = script.requests[2].messages[-2:]
    assert "Pages found: 0" not in found.content and "failed" not in found.content
    assert said.content == "quick"
    assert heard == ["hang"] * THREADS + ["search", "quick"]


@pytest.mark.django_db
def test_a_providers_words_are_in_no_log_and_no_chain(log):
    with scripted(fail(ValueError(SECRET))), pytest.raises(ModelFailed) as caught:
        run(make_agent())

    assert SECRET not in log()
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


@pytest.mark.django_db
def test_the_log_tells_where_a_tool_failed_but_not_what_it_said(offer, log):
    @tool
    def broken() -> str:
        """Break."""
        raise ValueError(SECRET)

    offer(broken)
    with scripted(call("broken"), say("It failed.")):
        run(make_agent(tools=["broken"]))

    assert "'broken'" in log() and "ValueError" in log() and "test_containment.py" in log()
    assert SECRET not in log()


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["agent_started", "pre_system_prompt", "tool_pre_execute"])
def test_the_log_tells_which_receiver_failed_but_not_what_it_said(name, listen, offer, log):
    @tool
    async def hours() -> str:
        """Tell the hours."""
        return "nine"

    def broken(**named):
        raise ValueError(SECRET)

    offer(hours)
    listen(getattr(signals, name), broken)
    with scripted(call("hours"), say("Fine.")):
        if name == "pre_system_prompt":
            with pytest.raises(RunFailed) as caught:
                run(make_agent(tools=["hours"]))
            assert caught.value.__suppress_context__
        else:
            run(make_agent(tools=["hours"]))

    assert "ValueError" in log() and "test_containment.py" in log()
    assert SECRET not in log()


@pytest.mark.django_db
def test_a_search_that_fails_logs_no_query(log):
    agent = make_agent(tools=[{"tool": "search", "index": "nowhere"}])
    with scripted(call("search", query=SECRET), say("I could not look.")):
        run(agent, SECRET)

    assert "'nowhere'" in log()
    assert SECRET not in log()


def test_options_that_a_chat_model_refuses_are_in_no_chain(settings):
    settings.AI_ANSWERS = {
        "CHAT_MODELS": {
            "bad": {
                "BACKEND": "ai_answers.chat_models.scripted.ScriptedChatModel",
                "OPTIONS": {"temperature": SECRET},
            }
        }
    }
    with pytest.raises(ConfigurationError, match="temperature") as caught:
        get_chat_model("bad")
    assert SECRET not in str(caught.value) and caught.value.__suppress_context__
