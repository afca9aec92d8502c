import json
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from ai_answers.chat_models.scripted import fail, say, scripted
from ai_answers.models import Agent

from ..content import make_agent, make_pages

ANSWER = "They leave on Friday at six [1]."


@pytest.fixture
def agent(transactional_db):
    make_pages()
    return make_agent()


def ask(question="When do parcels leave the depot?", **options):
    out = StringIO()
    call_command("ai_answers_ask", question, stdout=out, **options)
    return out.getvalue()


def test_the_answer_is_printed_with_its_sources(agent):
    with scripted(say(ANSWER)):
        printed = ask()
    assert printed.startswith("They leave on Friday at six[1].\n")
    assert "[1] Depot times  /articles/" in printed


def test_json_is_the_apis_answer(agent):
    with scripted(say(ANSWER)):
        body = json.loads(ask(json=True))
    assert set(body) == {"conversation_id", "turn", "run", "answer", "outcome", "usage"}
    assert body["answer"]["references"][0]["index"] == 1


def test_a_user_sees_what_he_may_see(agent):
    User.objects.create_user("member")
    question = "Where does the lounge serve coffee?"
    with scripted(say("Behind the depot [1]."), say("Behind the depot [1].")):
        assert "Members' lounge" not in ask(question)
        assert "[1] Members' lounge" in ask(question, user="member")


def test_mistakes_are_explained(agent):
    with pytest.raises(CommandError, match="no user 'nobody'"):
        ask(user="nobody")
    with pytest.raises(CommandError, match="'none'"):
        ask(agent="none")
    with pytest.raises(CommandError, match="empty"):
        ask("  ")
    with scripted(fail(RuntimeError("x"))), pytest.raises(CommandError, match="model_failed"):
        ask()
    make_agent(slug="second")
    with pytest.raises(CommandError, match="--agent: depot, second"):
        ask()
    Agent.objects.update(access=Agent.Access.AUTHENTICATED)
    with pytest.raises(CommandError, match="does not answer this user"):
        ask(agent="depot")
