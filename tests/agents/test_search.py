"""The search tool over a real index, called by the agent and by force."""

import json

import pytest
from django.contrib.auth import get_user_model

from ai_answers.agents.search import resolve_search
from ai_answers.chat_models.scripted import Call, Reply, call, say, scripted
from ai_answers.events import RoundStarted, ToolFinished, ToolStarted
from ai_answers.models import Agent

from ..content import make_pages
from .runs import make_agent, run, text_of_run

pytestmark = pytest.mark.django_db(transaction=True)

SEARCH = {"tool": "search", "index": "default"}


@pytest.fixture
def pages():
    return make_pages()


@pytest.fixture
def outputs():
    """What the site's part was given, call by call."""
    return []


def ask(outputs, question="When do parcels leave?", tools=(SEARCH,), **options):
    def take(call, output, message):
        outputs.append((call.name, dict(call.arguments), output))

    return run(make_agent(tools=tools), question, on_tool_output=take, **options)


def titles(output):
    return [hit.chunk.title for hit in output.hits]


def test_the_first_turn_searches_by_force_before_any_model_call(pages, outputs, heard):
    """S27, D41: with the question as the query, and with both tool signals."""
    with scripted(say("On Friday.")) as script:
        events = ask(outputs, force_search=True)

    assert events[0] == ToolStarted(name="search", query="When do parcels leave?")
    assert events[1] == ToolFinished(name="search")
    assert events[2] == RoundStarted(number=1)
    assert [name for name, _ in heard] == [
        "agent_started",
        "tool_pre_execute",
        "tool_finished",
        "agent_finished",
    ]
    [(name, arguments, output)] = outputs
    assert (name, arguments) == ("search", {"query": "When do parcels leave?"})
    assert titles(output)[0] == "Depot times"
    assert [m.type for m in script.requests[0].messages if m.type == "tool"] == []


def test_a_follow_up_searches_only_when_the_model_asks_for_it(pages, outputs):
    """S28."""
    with scripted(say("Yes.")):
        ask(outputs, force_search=False)
    assert outputs == []

    with scripted(call("search", query="fees for a parcel"), say("Four euros.")):
        events = run(
            make_agent("second", tools=[SEARCH]),
            on_tool_output=lambda call, output, message: outputs.append(output),
        )
    assert titles(outputs[0])[0] == "Fees"
    assert text_of_run(events) == "Four euros."


def test_the_model_is_offered_a_query_and_nothing_else(pages, outputs):
    """D12, T1, T2, T7: index, amount and lowest score are hidden from the model."""
    with scripted(say("Fine.")) as script:
        ask(outputs)

    function = script.requests[0].tools[0]["function"]
    assert function["name"] == "search"
    assert list(function["parameters"]["properties"]) == ["query"]
    assert function["parameters"]["required"] == ["query"]


def test_arguments_a_model_invents_change_nothing(pages, outputs):
    """D12: a question that talks the model into another index gets the site's."""
    arguments = json.dumps({"query": "parcel", "index": "secret", "amount": 99, "min_score": -1})
    wrong = Reply(calls=[Call(name="search", arguments=arguments)])
    row = {**SEARCH, "amount": 1}
    with scripted(wrong, say("Fine.")):
        ask(outputs, tools=[row])

    assert len(outputs[0][2].hits) == 1


def test_amount_is_five_unless_the_agent_sets_one(outputs):
    """D11."""
    from ai_answers.indexing import index_source
    from ai_answers.sources import get_source

    from ..site.models import Article

    for number in range(9):
        Article.objects.create(title=f"Parcel {number}", body=f"Parcel number {number}.")
    index_source(get_source("site.article"))
    with scripted(say("a")):
        ask(outputs, "parcel", force_search=True)
    assert len(outputs[0][2].hits) == 5

    with scripted(say("a")):
        run(
            make_agent("more", tools=[{**SEARCH, "amount": 7}]),
            "parcel",
            force_search=True,
            on_tool_output=lambda call, output, message: outputs.append(output),
        )
    assert len(outputs[1].hits) == 7


def test_a_score_no_hit_reaches_leaves_a_plain_message(pages, outputs):
    """D11, T3, T4."""
    row = {**SEARCH, "min_score": 10_000.0}
    with scripted(call("search", query="parcel"), say("Nothing there.")) as script:
        ask(outputs, tools=[row])

    assert outputs[0][2].hits == ()
    assert "found nothing" in script.requests[1].messages[-1].content


def test_pages_the_asker_may_not_see_are_not_found(pages, outputs):
    """T5."""
    user = get_user_model().objects.create_user("member")
    with scripted(say("a")):
        ask(outputs, "Where is the lounge for coffee?", force_search=True)
    assert "Members' lounge" not in titles(outputs[0][2])

    with scripted(say("a")):
        run(
            make_agent("members", tools=[SEARCH]),
            "Where is the lounge for coffee?",
            force_search=True,
            user=user,
            on_tool_output=lambda call, output, message: outputs.append(output),
        )
    assert titles(outputs[1])[0] == "Members' lounge"


@pytest.mark.parametrize("query", ["", "   ", 7, None, ["a"]])
def test_a_query_that_is_none_is_answered_not_raised(query, pages, outputs):
    with scripted(call("search", query=query), say("Sorry.")) as script:
        events = ask(outputs)

    assert "query" in script.requests[1].messages[-1].content
    assert text_of_run(events) == "Sorry."


def test_an_index_that_is_gone_is_a_plain_message_to_the_model(outputs, caplog):
    """T4: and the visitor's words are not in the log."""
    row = {"tool": "search", "index": "gone"}
    with scripted(call("search", query="my secret ailment"), say("Sorry.")) as script:
        events = ask(outputs, tools=[row])

    assert "failed" in script.requests[1].messages[-1].content
    assert text_of_run(events) == "Sorry."
    assert "'gone'" in caplog.text
    assert "ailment" not in caplog.text


def test_what_the_site_makes_of_the_hits_is_what_the_model_reads(pages):
    """S45, S46, T6: from the structured output, not from the tool's text."""
    with scripted(call("search", query="parcel"), say("Fine. [1]")) as script:
        run(
            make_agent(tools=[SEARCH]),
            on_tool_output=lambda *given: "1: Depot times",
        )

    assert script.requests[1].messages[-1].content == "1: Depot times"


@pytest.mark.parametrize(
    ("tools", "found"),
    [
        ([SEARCH], True),
        ([{"tool": "hours"}, SEARCH], True),
        ([{"tool": "search", "index": ""}], False),
        ([{"tool": "search", "index": "  "}], False),
        ([{"tool": "hours", "index": "default"}], False),
        ([], False),
    ],
)
def test_an_agents_search_needs_the_tool_and_its_index(tools, found):
    """S18."""
    search = resolve_search(make_agent(tools=tools))
    assert (search is not None) is found


def test_resolving_the_search_never_raises():
    """S18."""
    assert resolve_search(Agent(slug="unsaved")) is None
