"""What one question may cost at most, whatever the model does: each limit at the API.

Rounds are in ``agents/test_loop``, output tokens on the wire in ``agents/test_wire``, the time of a
run in ``test_conversation``, budgets and rates in ``test_question``.
"""

import pytest

from ai_answers.chat_models.scripted import Reply, say, scripted
from ai_answers.models import Agent, BudgetDay, Conversation, Turn

from ..openai_server import OpenAIServer, Stream, Wait, chunk
from ..sse import frames_of


def limit(settings, **values):
    settings.AI_ANSWERS = settings.AI_ANSWERS | values


@pytest.mark.parametrize("characters", ["x", "\U0001f4e6", "ü"])
def test_a_question_has_as_many_characters_as_the_site_says(visitor, settings, characters):
    limit(settings, MAX_QUESTION_CHARS=20)
    with scripted(say("On Friday [1].")) as script:
        assert visitor.ask(characters * 20).status_code == 200
        response = visitor.ask(characters * 21)
    assert response.status_code == 400 and len(script.requests) == 1
    assert "21" in response.json()["error"]["message"]
    assert "20" in response.json()["error"]["message"] and Conversation.objects.count() == 1


@pytest.mark.parametrize("format", ["markdown", "html"])
@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_ends_at_its_most_characters(visitor, settings, format, stream):
    """Both paths, both formats; what was written up to there is kept, with its citations."""
    limit(settings, MAX_ANSWER_CHARS=120)
    endless = Reply(deltas=["On Friday at six [1]. "] * 1000)
    with scripted(endless):
        response = visitor.ask(stream=stream, format=format)
        if stream:
            done = frames_of(response)[-1].data
        else:
            body = response.json()
            done = body["answer"] | {"outcome": body["outcome"]}
    turn = Turn.objects.get()
    assert done["outcome"] == turn.outcome == "answered"
    assert done["text"] == turn.answer and 100 < len(turn.answer) <= 120
    assert turn.answer.startswith("On Friday at six[1].") and len(done["references"]) == 1


def test_one_piece_that_is_far_too_long_is_cut_as_well(visitor, settings):
    """A model that does not stream sends all at once."""
    limit(settings, MAX_ANSWER_CHARS=50)
    with scripted(Reply(deltas=["word " * 100_000])):
        text = visitor.ask().json()["answer"]["text"]
    assert 0 < len(text) <= 50


def test_a_model_that_goes_on_is_hung_up_on_and_what_it_used_is_booked(visitor, settings):
    """A real endpoint that does not heed the limit it was given: the connection is closed."""
    words = [chunk(content="On Friday at six [1]. ")] * 20
    steps = [chunk(role="assistant", content=""), *words, Wait(seconds=30)]
    with OpenAIServer(Stream(steps=steps)) as server:
        remote = {
            "BACKEND": "langchain_openai.ChatOpenAI",
            "OPTIONS": {"model": "any", "api_key": "none", "base_url": server.base_url},
        }
        models = settings.AI_ANSWERS["CHAT_MODELS"] | {"remote": remote}
        limit(settings, CHAT_MODELS=models, MAX_ANSWER_CHARS=100)
        Agent.objects.update(chat_model="remote", max_output_tokens=30)
        body = visitor.ask().json()
        assert server.gone.wait(5), "The request to the model is still open."
        (request,) = server.requests
    assert request.body["max_completion_tokens"] == 30
    assert body["outcome"] == "answered" and len(body["answer"]["text"]) <= 100
    used = Turn.objects.get().usage
    assert used["output_tokens"] >= 20 and used["input_tokens"] > 50
    for row in BudgetDay.objects.all():
        assert (row.tokens, row.reserved) == (used["total_tokens"], 0)


def test_a_run_cut_by_its_time_is_settled(visitor, settings):
    limit(settings, RUN_SECONDS=0.5)
    with scripted(Reply(deltas=["On Friday [1]. "], hang_seconds=30)):
        assert frames_of(visitor.ask(stream=True))[-1].data["code"] == "model_timeout"
    used = Turn.objects.get().usage["total_tokens"]
    rows = BudgetDay.objects.values_list("questions", "tokens", "reserved")
    assert used > 0 and set(rows) == {(1, used, 0)}
