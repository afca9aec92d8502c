"""Asking again, and asking another model: with real HTTP servers, up to what the visitor gets."""

import pytest

from ai_answers.chat_models import get_chat_model
from ai_answers.models import Agent, Run, Turn

from ..api.conftest import Api
from ..content import make_agent, make_pages
from ..openai_server import Cut, OpenAIServer, Stream, chunk, status, text, tool_calls
from ..sse import frames_of

pytestmark = pytest.mark.django_db(transaction=True)

ANSWER = "They leave on Friday [1]."
BUSY = status(503, headers={"retry-after-ms": "20"})
QUOTES = {"BACKEND": "ai_answers.chat_models.extractive.ExtractiveChatModel"}


@pytest.fixture
def models(settings):
    """Set up aliases: ``models(local=[replies…], house=[replies…])``; each stands in for the one
    before it. No replies: nothing listens there."""
    servers = []

    def start(quotes=False, **replies):
        entries, names = {}, [*replies, *(["quotes"] if quotes else [])]
        for name, fallback in zip(replies, [*names[1:], None], strict=False):
            server = OpenAIServer(*replies[name]).__enter__()
            servers.append(server)
            options = {"model": name, "base_url": server.base_url, "api_key": "none"}
            entries[name] = {
                "BACKEND": "langchain_openai.ChatOpenAI",
                "OPTIONS": options,
                "FALLBACK": fallback,
            }
            if not replies[name]:
                server.__exit__(None, None, None)
        settings.AI_ANSWERS = settings.AI_ANSWERS | {"CHAT_MODELS": {**entries, "quotes": QUOTES}}
        get_chat_model("local")  # the vendor's package takes seconds to import
        return servers

    yield start
    for server in servers:
        server.__exit__(None, None, None)


@pytest.fixture
def visitor():
    make_pages()
    make_agent(chat_model="local")
    return Api()


def test_a_server_that_is_busy_for_a_moment_goes_unnoticed(models, visitor):
    (server,) = models(local=[BUSY, Stream(steps=[chunk(content=""), Cut]), text(ANSWER)])
    last = frames_of(visitor.ask(stream=True))[-1]

    assert last.data["text"] == "They leave on Friday[1]."
    assert last.data["outcome"] == Turn.objects.get().outcome == "answered"
    assert Run.objects.get().notes == [] and len(server.requests) == 3


@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "json"])
def test_another_model_stands_in_and_the_outcome_says_so(models, visitor, caplog, streamed):
    local, house = models(local=[BUSY], house=[text(ANSWER)])
    Agent.objects.update(model_name="large", temperature=0.5, max_output_tokens=50)
    response = visitor.ask(stream=streamed)
    data = frames_of(response)[-1].data if streamed else response.json()

    assert (data["text"] if streamed else data["answer"]["text"]) == "They leave on Friday[1]."
    assert data["outcome"] == Turn.objects.get().outcome == "fallback"
    (note,) = Run.objects.get().notes
    assert note == "The chat model 'local' failed (model_overloaded), 'house' was asked."
    assert "It is replaced by 'house'" in caplog.text
    assert (len(local.requests), len(house.requests)) == (3, 1)
    # Name and temperature are for the agent's own model; what may be spent is for all.
    asked, stood_in = local.requests[0].body, house.requests[0].body
    assert (asked["model"], asked["temperature"]) == ("large", 0.5)
    assert stood_in["model"] == "house" and "temperature" not in stood_in
    assert stood_in["max_completion_tokens"] == 50
    assert stood_in["messages"] == asked["messages"] and stood_in["tools"] == asked["tools"]


def test_the_last_to_stand_in_quotes_the_sources(models, visitor):
    models(local=[], house=[status(401)], quotes=True)
    last = frames_of(visitor.ask(stream=True))[-1]

    assert last.kind == "done" and last.data["outcome"] == "fallback"
    assert "Parcels leave the depot on Friday at six." in last.data["text"]
    assert last.data["references"][0]["label"] == "Depot times"
    assert [note.split("'")[1] for note in Run.objects.get().notes] == ["local", "house"]


def test_what_stands_in_stays_for_the_rest_of_the_run(models, visitor):
    calls = tool_calls(("search", '{"query": "label"}'))
    local, house = models(local=[status(404)], house=[calls, text(ANSWER)])
    last = frames_of(visitor.ask(stream=True))[-1]

    assert last.data["outcome"] == "fallback"
    assert (len(local.requests), len(house.requests)) == (1, 2)


def test_a_model_that_fails_behind_its_tools_is_replaced_too(models, visitor):
    calls = tool_calls(("search", '{"query": "label"}'))
    local, house = models(local=[calls, status(404)], house=[text(ANSWER)])
    last = frames_of(visitor.ask(stream=True))[-1]

    assert last.data["outcome"] == "fallback" and last.data["text"] == "They leave on Friday[1]."
    assert house.requests[0].body["messages"][-1]["role"] == "tool"


def test_text_that_was_shown_is_never_begun_anew(models, visitor):
    """S33."""
    half = Stream(steps=[chunk(content="On "), chunk(content="Friday"), Cut])
    local, house = models(local=[half], house=[text(ANSWER)])
    last = frames_of(visitor.ask(stream=True))[-1]

    assert (last.kind, last.data["code"]) == ("error", "model_unreachable")
    assert Turn.objects.get().answer.startswith("On")
    assert (len(local.requests), len(house.requests)) == (1, 0)


def test_a_refusal_is_not_carried_to_another_model(models, visitor):
    local, house = models(local=[status(400, code="content_filter")], house=[text(ANSWER)])
    last = frames_of(visitor.ask(stream=True))[-1]

    assert (last.kind, last.data["outcome"]) == ("error", "refused")
    assert (len(local.requests), len(house.requests)) == (1, 0)


def test_where_all_fail_the_last_one_says_why(models, visitor, caplog):
    models(local=[status(401)], house=[BUSY])
    last = frames_of(visitor.ask(stream=True))[-1]

    assert (last.kind, last.data["code"]) == ("error", "model_overloaded")
    assert last.data["retryable"] and "'local'" in caplog.text and "'house'" in caplog.text


def test_a_model_that_cannot_be_built_is_replaced(models, visitor, settings, caplog):
    models(local=[], house=[text(ANSWER)])
    entries = dict(settings.AI_ANSWERS["CHAT_MODELS"])
    entries["local"] = {"BACKEND": "nowhere.ChatModel", "FALLBACK": "house"}
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"CHAT_MODELS": entries}
    last = frames_of(visitor.ask(stream=True))[-1]

    assert last.data["outcome"] == "fallback"
    assert "'nowhere.ChatModel', which cannot be imported" in caplog.text


@pytest.mark.parametrize("fallback", ["nowhere", "local", "broken"])
def test_a_fallback_that_cannot_be_used_leaves_the_first_error(
    models, visitor, settings, fallback, caplog
):
    """Also one that leads back: nobody is asked in circles."""
    models(local=[status(404)])
    entries = dict(settings.AI_ANSWERS["CHAT_MODELS"])
    entries["local"] = {**entries["local"], "FALLBACK": fallback}
    entries["broken"] = {"BACKEND": "nowhere.ChatModel"}
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"CHAT_MODELS": entries}
    last = frames_of(visitor.ask(stream=True))[-1]

    assert (last.kind, last.data["code"]) == ("error", "model_not_found")
    if fallback != "local":
        assert "fallback of chat model 'local' cannot be used" in caplog.text
