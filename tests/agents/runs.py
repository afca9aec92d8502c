"""Agents, contexts and whole runs for the tests of the agent."""

from django.contrib.auth.models import AnonymousUser

from ai_answers.agents.context import AgentRunContext, running
from ai_answers.agents.loop import run_agent
from ai_answers.events import TextDelta
from ai_answers.models import Agent, AgentTool
from ai_answers.runs.loop import submit
from ai_answers.values import Asker


def make_agent(slug="helper", *, tools=(), **fields):
    """Save an agent with tools by name (or dicts of fields); read back as a run needs it."""
    fields = {"name": slug, "chat_model": "scripted", **fields}
    agent = Agent.objects.create(slug=slug, **fields)
    for order, tool in enumerate(tools):
        row = tool if isinstance(tool, dict) else {"tool": tool}
        AgentTool.objects.create(agent=agent, order=order, **row)
    return Agent.objects.prefetch_related("tools").get(pk=agent.pk)


def make_context(agent, *, run_id="run", user=None, on_tool_output=None):
    return AgentRunContext(
        run_id=run_id,
        agent=agent,
        asker=Asker(user=user or AnonymousUser(), language="en"),
        boundary="0" * 32,
        sources_block=lambda: "",
        on_tool_output=on_tool_output or (lambda call, output, message: None),
    )


async def collect(agent, question="Why?", *, history=(), force_search=False, into=None, **context):
    """Run ``agent`` to its end; ``into`` keeps the events of a run that fails."""
    events = into if into is not None else []
    made = make_context(agent, **context)
    with running(made):
        stream = run_agent(made, history=history, question=question, force_search=force_search)
        async for event in stream:
            events.append(event)
    return events


def run(agent, question="Why?", **options):
    # On the app's own loop, as on a site: clients of chat models belong to it.
    return submit(collect(agent, question, **options)).result(120)


def text_of_run(events):
    return "".join(e.text for e in events if isinstance(e, TextDelta))
