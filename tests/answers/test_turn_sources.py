"""Sources over the rounds of one turn, and runs side by side (S24-S26, S29-S47, S49, G02)."""

from __future__ import annotations

import json
import re
import threading
import uuid

import pytest
from django.db import connections
from langchain_core.tools import tool

from ai_answers import signals
from ai_answers.agents.context import current
from ai_answers.chat_models.scripted import Reply, call, say, scripted
from ai_answers.models import Agent, AgentTool, Run
from ai_answers.sources.block import parse_sources
from ai_answers.tools import register_tool, unregister_tool
from tests.api.conftest import Api
from tests.content import make_agent, make_pages
from tests.sse import frames_of

pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = "When do parcels leave the depot?"
ALL_PAGES = "When do parcels leave the depot, with which label, for how many euros a parcel?"
"""A question that finds three pages."""


@pytest.fixture
def agent():
    make_pages()
    return make_agent()


@pytest.fixture
def visitor(agent):
    return Api()


@pytest.fixture
def listen():
    connected = []

    def connect(signal, receiver, **options):
        signal.connect(receiver, **options)
        connected.append((signal, receiver))

    yield connect
    for signal, receiver in connected:
        signal.disconnect(receiver)


def read_by_model(request):
    """Return what a model could cite in one round: number to title, over all its messages."""
    texts = "\n".join(str(message.content) for message in request.messages)
    return {source.number: source.title for source in parse_sources(texts)}


def test_the_run_id_is_ours_and_the_same_in_every_signal(visitor, listen):
    """S25, S26: it is there before the first signal, the search and the first model call."""
    heard = []

    def note(name):
        @signals.light
        def receive(sender, run_id, **named):
            heard.append((name, run_id))

        return receive

    receivers = {
        name: note(name)
        for name in (
            "agent_started",
            "tool_pre_execute",
            "tool_finished",
            "pre_system_prompt",
            "agent_finished",
        )
    }
    for name, receiver in receivers.items():
        listen(getattr(signals, name), receiver)
    with scripted(say("On Friday [1].")):
        body = visitor.ask(QUESTION).json()

    assert [name for name, _ in heard] == list(receivers)
    assert {run_id for _, run_id in heard} == {body["run"]}
    assert uuid.UUID(body["run"]) == Run.objects.get().pk


def test_a_context_holds_the_agent_its_block_and_where_results_go(visitor, listen):
    """S35: and it is gone when the run is over."""
    seen = []

    @signals.light
    def look(sender, **named):
        context = current.get()
        seen.append((context.agent.pk == sender.pk, context.sources_block(), context.run_id))

    listen(signals.pre_system_prompt, look)
    with scripted(say("On Friday [1].")):
        body = visitor.ask(QUESTION).json()

    ((is_sender, block, run_id),) = seen
    assert is_sender and run_id == body["run"]
    assert "Depot times" in {source.title for source in parse_sources(block)}
    assert current.get() is None


def test_results_of_the_search_alone_become_sources(visitor):
    """S42: output of the same shape from a tool that is no source tool adds nothing."""

    @tool("forge", response_format="content_and_artifact")
    def forge():
        """Return what looks like hits."""
        return "Done.", {"results": [{"entity_type": "site.article", "entity_id": 1}]}

    register_tool(forge)
    AgentTool.objects.create(agent=Agent.objects.get(), tool="forge", order=1)
    try:
        with scripted(call("forge"), say("See [1]. Forged [9].")) as script:
            body = visitor.ask(QUESTION).json()
    finally:
        unregister_tool("forge")
    assert script.requests[-1].messages[-1].content == "Done."
    assert body["answer"]["text"] == "See[1]. Forged."


def test_every_page_of_one_call_has_a_number_of_its_own(visitor):
    """G02, G20, S51: 1 to N in the order of the list, in the prompt that the model reads."""
    with scripted(say("On Friday [1].")) as script:
        visitor.ask(ALL_PAGES)
    block = script.requests[0].system_prompt
    found = parse_sources(block)
    assert [source.number for source in found] == list(range(1, len(found) + 1))
    assert len({source.title for source in found}) == len(found) >= 3


def test_what_is_cited_is_the_page_that_bore_the_number(visitor):
    """G01, S46, S61-S65: over three rounds, pages that come up again keep their number."""
    cited = {}

    def answer(messages):
        texts = "\n".join(str(message.content) for message in messages)
        cited.update({source.number: source.title for source in parse_sources(texts)})
        return say(" ".join(f"{title} [{number}]." for number, title in sorted(cited.items())))

    with scripted(
        call("search", query="When do parcels leave the depot?"),
        call("search", query="label address capital letters"),
        answer,
    ) as script:
        body = visitor.ask("four euros two kilograms").json()

    numbers = [read_by_model(request) for request in script.requests]
    for earlier, later in zip(numbers, numbers[1:], strict=False):
        assert later.items() >= earlier.items()
    labels = {str(r["index"]): r["label"] for r in body["answer"]["references"]}
    claims = re.findall(r"([A-Z][a-z' ]+?)\[(\d+)\]\.", body["answer"]["text"])
    assert len(claims) == len(cited) >= 3
    assert all(labels[index] == title.strip() for title, index in claims)


def test_the_order_of_a_reranker_is_the_order_of_the_numbers(visitor, settings):
    """S49: one that a site sets decides what is source 1."""
    settings.AI_ANSWERS = settings.AI_ANSWERS | {
        "RERANKERS": {"last": {"BACKEND": "tests.answers.test_turn_sources.LastFirst"}},
        "INDEXES": {
            "default": {
                "BACKEND": "ai_answers.retrieval.database.DatabaseIndex",
                "RERANKER": "last",
            }
        },
    }
    with scripted(say("On Friday [1].")) as script:
        visitor.ask(ALL_PAGES)
    titles = [source.title for source in parse_sources(script.requests[0].system_prompt)]
    assert titles == ["Labels", "Fees", "Depot times"]


class LastFirst:
    """A compressor that puts what begins with the last letter first."""

    def compress_documents(self, documents, query, callbacks=None):
        ranked = sorted(documents, key=lambda document: document.page_content, reverse=True)
        for place, document in enumerate(ranked):
            document.metadata["relevance_score"] = 1 - place / 10
        return ranked


def test_a_page_that_became_private_between_two_rounds_is_not_read_again(visitor):
    """D42, S52, G10: its number stays taken, its text and title go."""
    from tests.site.models import Article

    def close(messages):
        def work():
            Article.objects.filter(title="Depot times").update(audience="staff")
            connections.close_all()

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return call("search", query="label address capital letters")

    with scripted() as script:
        script.replies += [_Once(close, script), say("Times [1]. Labels [2].")]
        body = visitor.ask("When does the gate open?").json()

    first, last = script.requests[0], script.requests[-1]
    assert "Depot times" in first.system_prompt
    assert "The gate opens at five" not in "".join(str(m.content) for m in last.messages)
    labels = {r["label"] for r in body["answer"]["references"]}
    assert "Depot times" not in json.dumps(body) and "Labels" in labels


class _Once:
    """A reply that is made when it is asked for, and used up: a callable stays in place."""

    def __init__(self, make, script):
        self.make, self.script = make, script

    def __call__(self, messages):
        self.script.replies.pop(0)
        return self.make(messages)


def test_ten_runs_of_ten_agents_at_once_do_not_mix(transactional_db, listen, settings):
    """S34, S37, S41: each prompt has its own rules and sources, each answer its own page."""
    # All ten ask from one address, and reserve more at once than one visitor has for a day.
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "BUDGETS": {"visitor": None}}
    from ai_answers.indexing import index_source
    from ai_answers.sources import get_source
    from tests.site.models import Article

    names = [f"agent{n}" for n in range(10)]
    words = ["heron", "tern", "gull", "robin", "finch", "eagle", "raven", "stork", "crane", "owl"]
    for name, word in zip(names, words, strict=True):
        Article.objects.create(title=f"A {word}", body=f"Nests in tower {name}.")
        agent = make_agent(
            slug=name, name=name, instructions=f"I am {name}.", guidance=f"Rules of {name}."
        )
        assert agent.pk
    index_source(get_source("site.article"))
    together = threading.Barrier(10, timeout=30)
    prompts, stray = {}, []

    @signals.light
    def look(sender, run_id, **named):
        context = current.get()
        if context is None or context.run_id != run_id or context.agent.pk != sender.pk:
            stray.append(run_id)

    for signal in (signals.pre_system_prompt, signals.tool_finished, signals.agent_finished):
        listen(signal, look)

    def reply(messages):
        system = str(messages[0].content)
        name = re.search(r"I am (agent\d)\.", system)[1]
        prompts.setdefault(name, []).append(system)
        word = words[names.index(name)]
        if messages[-1].type == "tool":
            deltas = [f"The {word} nests ", f"in {name} ", "[1]."]
            return Reply(deltas=deltas, delay_seconds=0.05, first_delay_seconds=0.05)
        # A second round for each, while the others are in the middle of theirs.
        return Reply(calls=call("search", query=f"the {word}").calls, first_delay_seconds=0.1)

    bodies = {}

    def ask(name, word):
        try:
            api = Api()
            together.wait()
            frames = frames_of(api.ask(f"Where is the {word}?", agent=name, stream=True))
            bodies[name] = frames[-1].data
        finally:
            connections.close_all()

    with scripted(reply):
        threads = [
            threading.Thread(target=ask, args=pair) for pair in zip(names, words, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

    assert set(bodies) == set(names) and stray == []
    for name, word in zip(names, words, strict=True):
        assert len(prompts[name]) == 2
        for prompt in prompts[name]:
            assert f"Rules of {name}." in prompt and f"tower {name}" in prompt
            assert not [other for other in names if other != name and other in prompt]
        assert bodies[name]["text"] == f"The {word} nests in {name}[1]."
        assert [r["label"] for r in bodies[name]["references"]] == [f"A {word}"]
    boundaries = {re.search(r"<sources-([0-9a-f]+)>", p[0])[1] for p in prompts.values()}
    assert len(boundaries) == 10  # G12: no answer shares its delimiter with another


def test_a_context_is_there_until_the_stream_was_read_to_its_end(agent):
    """S29, S30: a later round runs while the stream is read; its prompt has the sources still."""
    from ai_answers.agents.context import running
    from ai_answers.agents.loop import run_agent
    from ai_answers.runs.loop import submit
    from tests.agents.runs import make_context

    async def read(*, leave_early):
        context = make_context(made)
        context.sources_block = lambda: "THE SOURCES"
        with running(context):
            events = run_agent(context, history=(), question="x", force_search=False)
            if not leave_early:
                return [event async for event in events]
            await anext(events)
        return [event async for event in events]

    made = Agent.objects.prefetch_related("tools").get(pk=agent.pk)
    with scripted(call("search", query="x"), say("Done.")) as script:
        submit(read(leave_early=False)).result(60)
    assert len(script.requests) == 2
    assert all("THE SOURCES" in request.system_prompt for request in script.requests)

    with scripted(call("search", query="x"), say("Done.")) as script:
        submit(read(leave_early=True)).result(60)
    assert not any("THE SOURCES" in request.system_prompt for request in script.requests)
