import json
import signal
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from ai_answers.chat_models.scripted import Reply, fail, say, scripted
from ai_answers.management.terminal import printable
from ai_answers.models import Agent, Run, Turn
from tests.site.models import Article

from ..content import make_agent, make_pages
from ..openai_server import OpenAIServer, status

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
    answer, sources = printed.split("\n\n")
    assert answer == "They leave on Friday at six[1]."
    assert sources.startswith("[1] Depot times  /articles/") and sources.endswith("/\n")


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
    with pytest.raises(CommandError, match="no agent 'none'; there are: depot\\."):
        ask(agent="none")
    for question in ("  ", "\u200b\u2060", "\U000e0041"):
        with pytest.raises(CommandError, match="empty"):
            ask(question)
    with scripted(fail(RuntimeError("x"))), pytest.raises(CommandError, match="model_failed"):
        ask()
    make_agent(slug="second")
    with pytest.raises(CommandError, match="--agent: depot, second"):
        ask()
    Agent.objects.update(access=Agent.Access.AUTHENTICATED)
    with pytest.raises(CommandError, match="does not answer this user") as refused:
        ask(agent="depot")
    for way in ("--user", "ai_answers_setup --agent depot --access public", "Who may ask"):
        assert way in str(refused.value)
    Agent.objects.update(enabled=False)
    with pytest.raises(CommandError, match="switched off: depot, second"):
        ask()
    Agent.objects.all().delete()
    with pytest.raises(CommandError, match="make one with ai_answers_setup"):
        ask()


def test_without_an_answer_the_command_says_so_on_a_line_of_its_own(agent):
    """The text goes to one stream and the remark to the other, in this order in one file too."""
    both = StringIO()
    with scripted(say("\n\n")):
        call_command("ai_answers_ask", "When?", stdout=both, stderr=both)
    lines = both.getvalue().splitlines()
    assert lines[-1] == "(no answer)"
    assert len(lines) == 2 and lines[0].strip()


def test_empty_lines_around_an_answer_are_left_out(agent):
    with scripted(Reply(deltas=["\n", "\nOn Friday.", "\n\n", "At six. [1]", "\n\n"])):
        answer = ask().rpartition("\n\n")[0]
    assert answer == "On Friday.\n\nAt six.[1]"


REMOTE = {
    "BACKEND": "langchain_openai.ChatOpenAI",
    "OPTIONS": {"model": "small", "max_retries": 0, "api_key": "sk-not-shown"},
}


@pytest.fixture
def remote(agent, settings):
    """Let the agent use a language model with these options."""

    def use(**options):
        entry = REMOTE | {"OPTIONS": REMOTE["OPTIONS"] | options}
        settings.AI_ANSWERS = settings.AI_ANSWERS | {"CHAT_MODELS": {"remote": entry}}
        Agent.objects.update(chat_model="remote")

    return use


def why_not(**options):
    with pytest.raises(CommandError) as failed:
        ask(**options)
    assert "sk-not-shown" not in str(failed.value) and "\n" not in str(failed.value)
    return str(failed.value)


def test_a_chat_model_that_cannot_be_built_is_named_before_a_turn_is_opened(remote, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    remote(api_key="", base_url="http://127.0.0.1:9/v1")
    said = why_not()
    assert "['CHAT_MODELS']['remote'] at http://127.0.0.1:9/v1" in said
    assert said.endswith("'api_key' is empty.")
    assert not Turn.objects.exists()


def test_a_chat_model_that_cannot_be_reached_is_named_with_its_address(remote):
    remote(base_url="http://me:sk-not-shown@127.0.0.1:9/v1?key=sk-not-shown")
    said = why_not()
    assert said.startswith("The run failed (model_unreachable): the chat model 'remote'")
    assert "langchain_openai.ChatOpenAI at http://127.0.0.1:9/v1)" in said
    assert why_not(json=True) == said


@pytest.mark.parametrize(
    "code, named",
    [
        (401, "(model_auth): the chat model 'remote' (langchain_openai.ChatOpenAI at http://127"),
        (404, "(model_not_found)"),
        (429, "(model_rate_limited)"),
        (503, "(model_overloaded)"),
    ],
)
def test_each_failure_of_a_provider_says_what_to_do(remote, code, named):
    with OpenAIServer(status(code)) as server:
        remote(base_url=server.base_url)
        said = why_not()
    assert named in said and said.count(": ") >= 1 and said.endswith(".")


def test_a_spent_budget_is_named(agent, settings):
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"BUDGETS": {"site": {"questions": 0}}}
    assert "daily budget of the site is spent" in why_not()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[2J\x07\x08\r\x7fx", "[2Jx"),
        ("\x9b2J\x85\x80x", "2Jx"),
        ("a\u202eb\u2066c\u200fd\u061c", "abcd"),
        ("a\u200bb\U000e0041c\ufeff", "abc"),
        ("\u0645\u06cc\u200c", "\u0645\u06cc\u200c"),
        ("\u200d\U0001f467\ufe0f", "\u200d\U0001f467\ufe0f"),
        ("half \ud800", "half \ufffd"),
    ],
    ids=ascii,
)
def test_nothing_printed_drives_a_terminal_or_hides_in_it(text, shown):
    assert printable(text) == shown


HOSTILE = "Depot \u202e\x1b]0;x\x07\x9b\U000e0041times"


def test_hostile_answers_and_titles_are_printed_plain(agent):
    Article.objects.filter(title="Depot times").update(title=HOSTILE)
    with scripted(say(f"{HOSTILE} are [1].")):
        printed = ask()
    assert "[1] Depot ]0;xtimes  /articles/" in printed
    assert set(printed) <= set(map(chr, range(32, 127))) | {"\n"}


def test_json_is_ascii_and_holds_the_whole_text(agent):
    with scripted(say("Um sechs \u202e\x9b\x7f\U0001f4e6 [1].")):
        printed = ask(json=True)
    assert printed.isascii() and "\x7f" not in printed
    assert json.loads(printed)["answer"]["text"] == "Um sechs \u202e\x9b\x7f\U0001f4e6[1]."


class Impatient(StringIO):
    """A terminal whose reader presses Ctrl-C as soon as something is shown."""

    def write(self, text):
        written = super().write(text)
        if "Friday" in text:
            signal.raise_signal(signal.SIGINT)
        return written


def test_ctrl_c_stops_the_run_and_keeps_what_was_written(agent):
    """Design 1.3: stopping is asked of the run, so the turn ends as stopped."""
    out, errors = Impatient(), StringIO()
    with scripted(Reply(deltas=["On Friday ", "[1]. ", "And "], hang_seconds=60)) as script:
        with pytest.raises(SystemExit) as ended:
            call_command("ai_answers_ask", "When?", stdout=out, stderr=errors)
        assert script.closed == 1
    assert ended.value.code == 130
    assert errors.getvalue() == "Stopped. What was written of the answer is saved.\n"
    assert out.getvalue().endswith("\n") and "Traceback" not in out.getvalue()
    turn, run = Turn.objects.get(), Run.objects.get()
    assert (turn.outcome, run.status) == ("stopped", Run.Status.ENDED)
    assert turn.answer.startswith("On Friday")
