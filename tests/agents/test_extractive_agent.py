"""An agent on the built-in model, over a real index: nothing is configured, and it answers."""

import asyncio

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from ai_answers.agents.context import running
from ai_answers.agents.loop import run_agent
from ai_answers.events import ToolStarted
from ai_answers.sources.block import render_sources
from ai_answers.values import Source

from ..content import make_pages
from .runs import make_agent, make_context, text_of_run

pytestmark = pytest.mark.django_db(transaction=True)


def ask(question, *, history=(), force_search=True):
    """Run the agent with the smallest stand-in for what ``answers`` does with hits."""
    sources = []

    def number(call, output, message):
        for hit in output.hits:
            if hit.chunk.key not in [source.key for source in sources]:
                chunk = hit.chunk
                sources.append(
                    Source(
                        number=len(sources) + 1,
                        key=chunk.key,
                        title=chunk.title,
                        url=chunk.url,
                        language=chunk.language,
                        chunks=(chunk,),
                    )
                )
        return block()

    def block():
        return render_sources(sources, boundary="a" * 32)

    tools = [{"tool": "search", "index": "default"}]
    context = make_context(make_agent(chat_model="default", tools=tools), on_tool_output=number)
    context.sources_block = block

    async def collect():
        options = {"history": history, "question": question, "force_search": force_search}
        with running(context):
            return [event async for event in run_agent(context, **options)]

    return asyncio.run(collect())


def test_the_first_turn_quotes_from_the_forced_search():
    make_pages()
    events = ask("What does a parcel of two kilograms cost?")

    assert "A parcel of up to two kilograms costs four euros. [1]" in text_of_run(events)
    assert sum(isinstance(e, ToolStarted) for e in events) == 1


def test_a_follow_up_is_searched_for_with_what_it_refers_to():
    make_pages()
    history = [HumanMessage("What does a parcel cost?"), AIMessage("Four euros.")]
    events = ask("And what label does it need?", history=history, force_search=False)

    [started] = [e for e in events if isinstance(e, ToolStarted)]
    assert "parcel" in started.query
    assert "Every parcel needs a label" in text_of_run(events)


def test_what_no_page_covers_is_answered_with_nothing():
    make_pages()
    assert text_of_run(ask("Who won the chess tournament in Reykjavik?")) == ""
