"""What a site's own tracer hears, and that its failures cost nothing."""

import subprocess
import sys

import pytest

from ai_answers.answers.tracing import RunTrace, Tracer
from ai_answers.chat_models.scripted import say, scripted
from ai_answers.events import PromptSent, RoundFinished, RoundStarted, TextDelta, ToolFinished
from ai_answers.models import Conversation, Feedback, Turn
from ai_answers.values import Usage

from ..api.conftest import Api
from ..content import make_agent, make_pages

ANSWER = "They leave on Friday at six [1]."
MESSAGE = "Zebulon said no."


class NoteTrace(RunTrace):
    id = "trace-7"

    def __init__(self, tracer):
        self.tracer = tracer

    def active(self):
        self.tracer.hear("active")
        return super().active()

    def feed(self, event):
        self.tracer.hear("feed", event)

    def end(self, end):
        self.tracer.hear("end", end)


class NoteTracer(Tracer):
    """Notes what it hears, and raises where it is told to."""

    heard: list = []

    def __init__(self, *, raises=""):
        self.raises = raises

    def hear(self, what, about=None):
        self.heard.append((what, about))
        if what == self.raises:
            raise RuntimeError(MESSAGE)

    def start(self, run):
        self.hear("start", run)
        return NoteTrace(self)

    def score(self, vote):
        self.hear("score", vote)


@pytest.fixture
def heard(settings):
    trace_with(settings)
    NoteTracer.heard = []
    return NoteTracer.heard


def trace_with(settings, **options):
    tracer = {"BACKEND": "tests.answers.test_tracing.NoteTracer", "OPTIONS": options}
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"TRACER": tracer}


@pytest.fixture
def visitor(transactional_db):
    make_pages()
    make_agent(model_name="", temperature=0.5)
    return Api()


def ask_and_vote(visitor):
    used = Usage(input_tokens=70, output_tokens=9)
    with scripted(say(ANSWER, usage=used)):
        body = visitor.ask().json()
    vote = {"conversation_id": body["conversation_id"], "turn": 1, "rating": "down"}
    return body, visitor.post("feedback", vote | {"comment": "Zebulon"}).json()


def test_a_tracer_hears_how_a_run_begins_goes_and_ends_and_of_its_votes(visitor, heard):
    ask_and_vote(visitor)
    (_, start), *_, (_, end), (_, vote) = heard
    assert (start.agent, start.model, start.temperature, start.turn) == (
        "depot",
        "scripted",
        0.5,
        1,
    )
    assert start.question == "When do parcels leave?" and end.text.startswith("They leave")
    assert str(Conversation.objects.get().pk) not in repr(start)
    kinds = [type(event) for what, event in heard if what == "feed"]
    assert kinds[:4] == [kinds[0], ToolFinished, RoundStarted, PromptSent]
    assert set(kinds[4:-1]) == {TextDelta} and kinds[-1] == RoundFinished
    assert (end.outcome, end.usage.total_tokens, end.error_code) == ("answered", 79, "")
    assert (vote.trace_id, vote.is_positive, vote.comment) == ("trace-7", False, "Zebulon")
    assert Turn.objects.get().trace_id == "trace-7"


@pytest.mark.parametrize("where", ["start", "active", "feed", "end", "score"])
def test_a_tracer_that_fails_costs_no_answer_and_no_vote(visitor, settings, heard, where, caplog):
    """D38, D46: logged once, without a word of anybody, and left alone for the rest."""
    trace_with(settings, raises=where)
    body, recorded = ask_and_vote(visitor)
    assert body["outcome"] == "answered" and recorded == {"status": "recorded"}
    assert Feedback.objects.count() == 1
    assert [what for what, _ in heard].count(where) == 1
    assert "RuntimeError" in caplog.text and "Zebulon" not in caplog.text


UNTRACED = """
import django, sys
django.setup()
import ai_answers.runs.execution, ai_answers.api.views
from django.core import checks
checks.run_checks()
ours = ("ai_answers.contrib.otel", "ai_answers.contrib.langfuse")  # langsmith may import theirs
print([name for name in sys.modules if name.startswith((*ours, "opentelemetry.exporter"))])
"""


def test_by_default_no_tracer_is_imported(monkeypatch):
    """Off and unimported: not by the app, its endpoints, its runs or its checks."""
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "tests.settings")
    done = subprocess.run([sys.executable, "-c", UNTRACED], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
