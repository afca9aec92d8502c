import json
import signal
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from ai_answers.chat_models.scripted import Reply, fail, say, scripted
from ai_answers.management.commands.ai_answers_ask import printable
from ai_answers.models import Agent, Run, Turn
from tests.site.models import Article

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
    for question in ("  ", "\u200b\u2060", "\U000e0041"):
        with pytest.raises(CommandError, match="empty"):
            ask(question)
    with scripted(fail(RuntimeError("x"))), pytest.raises(CommandError, match="model_failed"):
        ask()
    make_agent(slug="second")
    with pytest.raises(CommandError, match="--agent: depot, second"):
        ask()
    Agent.objects.update(access=Agent.Access.AUTHENTICATED)
    with pytest.raises(CommandError, match="does not answer this user"):
        ask(agent="depot")


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
