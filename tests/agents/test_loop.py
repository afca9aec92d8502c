"""The loop of model calls and tools, through ``run_agent`` and a scripted chat model."""

import asyncio
import threading
import time

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from ai_answers import signals
from ai_answers.agents.context import current, running
from ai_answers.agents.loop import run_agent
from ai_answers.agents.prompts import SystemPrompt
from ai_answers.chat_models.scripted import Call, Reply, call, say, scripted
from ai_answers.events import RoundFinished, RoundStarted, TextDelta, ToolFinished, ToolStarted
from ai_answers.exceptions import RunFailed
from ai_answers.values import Usage

from .runs import collect, make_agent, make_context, run, text_of_run

pytestmark = pytest.mark.django_db


@tool
async def opening_hours(day: str) -> str:
    """Tell the opening hours."""
    return f"{day}: from nine."


@tool
async def staff(team: str = "all") -> list:
    """List the staff."""
    return [{"name": "Ada", "team": team}]


def test_a_plain_answer_is_one_round_streamed_as_it_comes():
    with scripted(say("From nine to five.", usage=Usage(input_tokens=5, output_tokens=4))):
        events = run(make_agent())

    assert events[0] == RoundStarted(number=1)
    assert [e.text for e in events if isinstance(e, TextDelta)] == [
        "From ",
        "nine ",
        "to ",
        "five.",
    ]
    usage = Usage(input_tokens=5, output_tokens=4)
    assert events[-1] == RoundFinished(usage=usage, finish_reason="stop")


def test_instructions_come_first_then_history_then_the_question():
    """S24, S38, D40."""
    history = [HumanMessage("Hello?"), AIMessage("Yes.")]
    with scripted(say("Fine.")) as script:
        run(make_agent(instructions="You help."), "And now?", history=history)

    messages = script.requests[0].messages
    assert messages[0].content.startswith("You help.")
    assert [m.content for m in messages[1:]] == ["Hello?", "Yes.", "And now?"]


def test_receivers_of_the_prompt_layer_on_the_instructions_in_their_order(listen):
    """S36, S38, S39, T21, T22: the answers part at 10, editorial context at 0, agent first."""

    @signals.light
    def context(sender, prompt: SystemPrompt, **named):
        prompt.append("CONTEXT")

    async def answers(sender, prompt: SystemPrompt, **named):
        await asyncio.sleep(0)
        prompt.append("RULES")

    listen(signals.pre_system_prompt, context, priority=0)
    listen(signals.pre_system_prompt, answers, priority=10)
    with scripted(say("Fine.")) as script:
        run(make_agent(instructions="You help."))

    prompt = script.requests[0].system_prompt
    assert prompt.index("You help.") == 0
    assert prompt.index("You help.") < prompt.index("RULES") < prompt.index("CONTEXT")


def test_every_round_asks_for_its_system_prompt_anew(listen, offer):
    """T15, T20."""
    offer(opening_hours)
    rounds = []

    @signals.light
    def note(sender, round, prompt, **named):
        rounds.append(round)
        prompt.append(f"round {round}")

    listen(signals.pre_system_prompt, note, priority=-1000)
    with scripted(call("opening_hours", day="Monday"), say("From nine.")) as script:
        run(make_agent(tools=["opening_hours"]))

    assert rounds == [1, 2]
    assert "round 1" not in script.requests[1].system_prompt


def test_a_failing_receiver_of_the_prompt_fails_the_run(listen, heard):
    @signals.light
    def broken(sender, **named):
        raise ValueError("secret detail")

    listen(signals.pre_system_prompt, broken)
    with scripted(say("Never.")) as script, pytest.raises(RunFailed) as caught:
        run(make_agent())

    assert script.requests == []
    assert "secret" not in str(caught.value)
    assert heard[-1][1]["outcome"] == "failed"


def test_a_tool_call_is_carried_out_and_its_result_goes_back(offer, heard):
    offer(opening_hours)
    with scripted(call("opening_hours", day="Monday"), say("From nine.")) as script:
        events = run(make_agent(tools=["opening_hours"]))

    assert [type(e).__name__ for e in events if not isinstance(e, TextDelta)] == [
        "RoundStarted",
        "PromptSent",
        "RoundFinished",
        "ToolStarted",
        "ToolFinished",
        "RoundStarted",
        "PromptSent",
        "RoundFinished",
    ]
    asked, result = script.requests[1].messages[-2:]
    assert asked.tool_calls[0]["args"] == {"day": "Monday"}
    assert result.content == "Monday: from nine."
    assert result.tool_call_id == asked.tool_calls[0]["id"]
    assert [name for name, _ in heard] == [
        "agent_started",
        "tool_pre_execute",
        "tool_finished",
        "agent_finished",
    ]


def test_a_tools_structured_output_reaches_receivers_whole(offer, heard):
    """S43, S44: a listing's rows are not flattened to text for receivers."""
    offer(staff)
    with scripted(call("staff", team="web"), say("Ada.")) as script:
        run(make_agent(tools=["staff"]))

    finished = dict(heard)["tool_finished"]
    assert finished["output"] == [{"name": "Ada", "team": "web"}]
    assert finished["call"].name == "staff"
    assert script.requests[1].messages[-1].content == '[{"name": "Ada", "team": "web"}]'


def test_an_artifact_is_the_structured_output(offer, heard):
    @tool(response_format="content_and_artifact")
    def forecast(town: str):
        """Forecast the weather."""
        return f"Sunny in {town}.", {"town": town}

    offer(forecast)
    with scripted(call("forecast", town="Graz"), say("Sunny.")) as script:
        run(make_agent(tools=["forecast"]))

    assert dict(heard)["tool_finished"]["output"] == {"town": "Graz"}
    assert script.requests[1].messages[-1].content == "Sunny in Graz."


def test_a_receiver_may_change_arguments_and_message(listen, offer):
    """S45, T20."""
    offer(opening_hours)

    @signals.light
    def change(sender, call, **named):
        call.arguments["day"] = "Sunday"

    @signals.light
    def rewrite(sender, call, message, **named):
        message.text = f"{message.text} [1]"

    listen(signals.tool_pre_execute, change)
    listen(signals.tool_finished, rewrite)
    with scripted(call("opening_hours", day="Monday"), say("Closed.")) as script:
        run(make_agent(tools=["opening_hours"]))

    assert script.requests[1].messages[-1].content == "Sunday: from nine. [1]"


def test_a_failing_receiver_before_a_tool_keeps_it_from_running(listen, offer, caplog):
    ran = []

    @tool
    async def spend() -> str:
        """Spend money."""
        ran.append(1)
        return "spent"

    @signals.light
    def refuse(sender, **named):
        raise PermissionError("detail")

    offer(spend)
    listen(signals.tool_pre_execute, refuse)
    with scripted(call("spend"), say("I could not.")) as script:
        events = run(make_agent(tools=["spend"]))

    assert ran == []
    assert text_of_run(events) == "I could not."
    assert "detail" not in script.requests[1].messages[-1].content


def test_a_failing_receiver_after_a_tool_fails_the_run(listen, offer):
    offer(opening_hours)

    @signals.light
    def broken(sender, **named):
        raise KeyError("x")

    listen(signals.tool_finished, broken)
    with scripted(call("opening_hours", day="Monday"), say("Never.")), pytest.raises(RunFailed):
        run(make_agent(tools=["opening_hours"]))


def test_tools_run_side_by_side_and_are_heard_in_call_order(offer, heard):
    """T16, but at the same time: numbers must not depend on which tool was faster."""
    spans = {}

    async def work(name, seconds):
        begun = time.monotonic()
        await asyncio.sleep(seconds)
        spans[name] = (begun, time.monotonic())
        return name

    @tool
    async def slow() -> str:
        """Slow."""
        return await work("slow", 0.2)

    @tool
    async def quick() -> str:
        """Quick."""
        return await work("quick", 0.01)

    offer(slow)
    offer(quick)
    both = Reply(calls=[Call(name="slow", arguments="{}"), Call(name="quick", arguments="")])
    with scripted(both, say("Done.")) as script:
        events = run(make_agent(tools=["slow", "quick"]))

    assert spans["quick"][1] < spans["slow"][1]  # ended in the other order
    assert spans["quick"][0] < spans["slow"][1]  # at the same time
    assert [(n, a["call"].name) for n, a in heard if n.startswith("tool")] == [
        ("tool_pre_execute", "slow"),
        ("tool_pre_execute", "quick"),
        ("tool_finished", "slow"),
        ("tool_finished", "quick"),
    ]
    tools = [e for e in events if isinstance(e, ToolStarted | ToolFinished)]
    assert [e.name for e in tools] == ["slow", "quick", "slow", "quick"]
    assert [m.content for m in script.requests[1].messages[-2:]] == ["slow", "quick"]


def test_a_sync_tool_runs_on_a_thread_in_the_runs_context(offer):
    where = {}

    @tool
    def thread_name() -> str:
        """Tell the thread."""
        where["thread"] = threading.current_thread()
        where["run"] = current.get().run_id
        return "ok"

    offer(thread_name)
    with scripted(call("thread_name"), say("Done.")):
        run(make_agent(tools=["thread_name"]), run_id="r7")

    assert where["thread"] is not threading.main_thread()
    assert where["run"] == "r7"


def test_a_tool_that_raises_becomes_a_short_message(offer, heard):
    @tool
    async def broken() -> str:
        """Break."""
        raise RuntimeError("password=hunter2")

    offer(broken)
    with scripted(call("broken"), say("It failed.")) as script:
        events = run(make_agent(tools=["broken"]))

    message = script.requests[1].messages[-1].content
    assert message
    assert "hunter2" not in message
    assert text_of_run(events) == "It failed."
    assert dict(heard)["tool_finished"]["output"] is None


def test_a_tool_that_hangs_is_left_behind(offer, settings):
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "TOOL_SECONDS": 0.1}
    release = threading.Event()

    @tool
    def hang() -> str:
        """Hang."""
        release.wait(5)
        return "too late"

    offer(hang)
    begun = time.monotonic()
    try:
        with scripted(call("hang"), say("It took too long.")) as script:
            run(make_agent(tools=["hang"]))
        assert time.monotonic() - begun < 2
    finally:
        release.set()
    assert "too long" in script.requests[1].messages[-1].content


@pytest.mark.parametrize(
    "arguments",
    ['{"day": "Mon', "{'day': 'Mon'}", "[1]", '{"day": "Mon",}', '"Monday"', "{" * 50_000],
)
def test_arguments_that_are_no_json_object_are_answered_not_raised(arguments, offer):
    offer(opening_hours)
    broken = Reply(calls=[Call(name="opening_hours", arguments=arguments)])
    with scripted(broken, call("opening_hours", day="Monday"), say("From nine.")) as script:
        events = run(make_agent(tools=["opening_hours"]))

    asked, result = script.requests[1].messages[-2:]
    assert "JSON" in result.content
    assert asked.tool_calls[0]["args"] == {}  # the history sent back is valid
    assert text_of_run(events) == "From nine."


def test_arguments_of_a_wrong_kind_are_named(offer):
    offer(opening_hours)
    with scripted(call("opening_hours", dya="Monday"), say("Sorry.")) as script:
        run(make_agent(tools=["opening_hours"]))

    assert "day" in script.requests[1].messages[-1].content


@pytest.mark.parametrize("name", ["delete_all", "a tool", "x" * 500, ""])
def test_an_unknown_tool_is_answered_with_the_ones_there_are(name, offer):
    offer(opening_hours)
    wrong = Reply(calls=[Call(name=name, arguments="{}")])
    with scripted(wrong, say("Sorry.")) as script:
        events = run(make_agent(tools=["opening_hours"]))

    asked, result = script.requests[1].messages[-2:]
    assert "opening_hours" in result.content
    assert len(asked.tool_calls[0]["name"]) <= 64
    assert " " not in asked.tool_calls[0]["name"]
    assert text_of_run(events) == "Sorry."


def test_calls_with_the_same_id_each_get_their_result(offer):
    offer(opening_hours)
    twice = Reply(
        calls=[
            Call(name="opening_hours", arguments='{"day": "Monday"}', id="same"),
            Call(name="opening_hours", arguments='{"day": "Tuesday"}', id="same"),
        ]
    )
    with scripted(twice, say("Done.")) as script:
        run(make_agent(tools=["opening_hours"]))

    results = script.requests[1].messages[-2:]
    assert len({m.tool_call_id for m in results}) == 2
    assert [m.content for m in results] == ["Monday: from nine.", "Tuesday: from nine."]


def test_the_same_call_again_is_answered_from_the_first_and_ends_the_search(offer, heard):
    """A model that goes in circles runs a tool once and then has to answer."""
    offer(opening_hours)

    def stubborn(messages):
        if stubborn.script.requests[-1].tools:
            return call("opening_hours", day="Monday")
        return say("From nine.")

    with scripted(stubborn) as script:
        stubborn.script = script
        events = run(make_agent(tools=["opening_hours"]))

    assert [name for name, _ in heard].count("tool_finished") == 1
    assert len(script.requests) == 3
    assert script.requests[2].messages[-1].content == "Monday: from nine."
    assert text_of_run(events) == "From nine."


def test_more_calls_than_allowed_in_a_round_are_refused_by_message(offer, settings, heard):
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "MAX_TOOL_CALLS": 3}
    offer(opening_hours)
    calls = [Call(name="opening_hours", arguments=f'{{"day": "{n}"}}') for n in range(64)]
    with scripted(Reply(calls=calls), say("Done.")) as script:
        run(make_agent(tools=["opening_hours"]))

    assert [name for name, _ in heard].count("tool_finished") == 3
    results = [m for m in script.requests[1].messages if m.type == "tool"]
    assert len(results) == 64
    assert "too many" in results[-1].content


def test_the_last_round_has_no_tools(offer, settings):
    """T15, T19: a model that only ever calls tools has to answer in the end."""
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "MAX_ROUNDS": 3}
    offer(opening_hours)

    def restless(messages):
        return call("opening_hours", day=str(len(messages)))

    with scripted(restless) as script:
        events = run(make_agent(tools=["opening_hours"]))

    assert [bool(request.tools) for request in script.requests] == [True, True, False]
    assert sum(isinstance(e, ToolFinished) for e in events) == 2


def test_text_before_a_tool_call_stays_and_does_not_run_into_the_next(offer):
    """S33."""
    offer(opening_hours)
    first = Reply(
        deltas=["Let me look."],
        calls=[Call(name="opening_hours", arguments='{"day": "Monday"}')],
    )
    with scripted(first, say("From nine.")):
        events = run(make_agent(tools=["opening_hours"]))

    assert text_of_run(events) == "Let me look.\n\nFrom nine."


def test_a_tool_that_returns_directly_ends_the_run(offer):
    """T17."""

    @tool(return_direct=True)
    async def directions() -> str:
        """Give directions."""
        return "Second floor."

    offer(directions)
    with scripted(call("directions"), say("Never said.")) as script:
        events = run(make_agent(tools=["directions"]))

    assert text_of_run(events) == "Second floor."
    assert len(script.requests) == 1


def test_a_required_tool_left_out_is_asked_for_once(offer):
    """T18."""
    offer(opening_hours, required=True)
    replies = (say("Probably nine."), call("opening_hours", day="Monday"), say("From nine."))
    with scripted(*replies) as script:
        events = run(make_agent(tools=["opening_hours"]))

    assert "opening_hours" in script.requests[1].messages[-1].content
    assert text_of_run(events) == "Probably nine.\n\nFrom nine."

    with scripted(say("No."), say("Still no.")) as script:
        run(make_agent("stubborn", tools=["opening_hours"]))
    assert len(script.requests) == 2


def test_reasoning_is_not_part_of_the_answer():
    blocks = [
        [{"type": "reasoning", "reasoning": "Hmm, they want hours.", "index": 0}],
        [{"type": "text", "text": "From ", "index": 1}],
        [{"type": "text", "text": "nine.", "index": 1}],
    ]
    with scripted(Reply(deltas=blocks)):
        events = run(make_agent())

    assert text_of_run(events) == "From nine."


def test_text_that_no_database_takes_is_mended_while_streaming():
    with scripted(Reply(deltas=["a\0b ", "\ud83d", "\ude00 and ", "\ud83d", "", "end \ud800"])):
        events = run(make_agent())

    assert text_of_run(events) == "ab \U0001f600 and \ufffdend \ufffd"
    assert all(e.text for e in events if isinstance(e, TextDelta))


def test_usage_is_summed_over_rounds_and_estimated_where_none_is_reported(offer, heard):
    offer(opening_hours)
    first = Reply(
        calls=[Call(name="opening_hours", arguments='{"day": "Monday"}')],
        usage=Usage(input_tokens=100, output_tokens=10),
    )
    with scripted(first, say("From nine on every weekday.")):
        events = run(make_agent(tools=["opening_hours"]))

    usages = [e.usage for e in events if isinstance(e, RoundFinished)]
    assert usages[0] == Usage(input_tokens=100, output_tokens=10)
    assert usages[1].input_tokens > 0
    assert 5 <= usages[1].output_tokens <= 9
    assert dict(heard)["agent_finished"]["usage"] == usages[0] + usages[1]


def test_no_text_at_all_is_told_to_listeners(heard):
    with scripted(say("")):
        events = run(make_agent())

    assert text_of_run(events) == ""
    assert heard[-1][0] == "agent_finished"
    assert heard[-1][1]["outcome"] == "no_answer"


def test_ten_runs_at_once_keep_to_their_own_agents_and_contexts(listen, offer):
    """S34, S37, S41: no bleed between concurrent runs, in receivers, tools or prompts."""

    @tool
    async def who_am_i() -> str:
        """Tell the run."""
        await asyncio.sleep(0.01)
        return current.get().run_id

    offer(who_am_i)

    @signals.light
    def add_rules(sender, run_id, prompt, **named):
        context = current.get()
        assert context.agent is sender
        prompt.append(f"rules of {context.run_id}")

    listen(signals.pre_system_prompt, add_rules)

    def reply(messages):
        said = "\n".join(str(m.content) for m in messages)
        if messages[-1].type == "tool":
            return say(said, delay_seconds=0.001)
        return call("who_am_i")

    agents = [
        make_agent(f"agent{n}", instructions=f"I am agent{n}.", tools=["who_am_i"])
        for n in range(10)
    ]

    async def all_at_once():
        runs = [collect(agent, f"question{n}", run_id=f"run{n}") for n, agent in enumerate(agents)]
        return await asyncio.gather(*runs)

    with scripted(reply):
        results = asyncio.run(all_at_once())

    for n, events in enumerate(results):
        text = text_of_run(events)
        assert f"I am agent{n}.\n" in text
        assert f"rules of run{n}" in text
        assert f"question{n}" in text
        assert text.endswith(f"run{n}")
        others = [m for m in range(10) if m != n]
        assert not any(f"run{m}" in text or f"agent{m}" in text for m in others)


def test_no_context_is_left_behind_after_a_run():
    """S29."""
    with scripted(say("Done.")):
        run(make_agent())
    assert current.get() is None


def test_a_run_read_outside_its_context_is_refused():
    """S30: later rounds would silently find no sources."""
    context = make_context(make_agent())

    async def outside():
        with running(context):
            stream = run_agent(context, history=[], question="Why?", force_search=False)
        await anext(stream)

    with pytest.raises(RuntimeError, match="running"):
        asyncio.run(outside())


def test_a_tool_row_nobody_registered_is_passed_over():
    with scripted(say("Fine.")) as script:
        events = run(make_agent(tools=["gone"]))

    assert text_of_run(events) == "Fine."
    assert script.requests[0].tools == []


def test_the_agents_model_settings_reach_the_model():
    """D3."""
    agent = make_agent(model_name="large", temperature=0.2, max_output_tokens=99)
    with scripted(say("Fine.")) as script:
        run(agent)

    options = script.requests[0].options
    assert options == {"model": "large", "temperature": 0.2, "max_tokens": 99}
