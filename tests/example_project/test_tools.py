"""The programme as a source tool: events by date, two of them of one name."""

from __future__ import annotations

import pytest

from ai_answers.chat_models.scripted import call, say, scripted
from ai_answers.models import Agent
from example_project.library.models import Event
from example_project.library.tools import events_between
from tests.api.conftest import Api

pytestmark = pytest.mark.django_db(transaction=True)

SCRIPTED = {"default": {"BACKEND": "ai_answers.chat_models.scripted.ScriptedChatModel"}}


@pytest.mark.parametrize(("language", "title"), [("en", "Repair café"), ("de", "Repair-Café")])
def test_two_events_of_one_name_are_two_sources(site, settings, language, title):
    """S43, S55-S59: question, call, numbered rows, an answer that cites both, two cards."""
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "CHAT_MODELS": SCRIPTED}

    def answer(messages):
        listed = str(messages[-1].content)
        blocks = listed.split("<source-")[1:]
        numbers = [b.split('number="')[1].split('"')[0] for b in blocks if f"\n{title}\n" in b]
        return say(f"There are two: [{numbers[0]}] and [{numbers[1]}].")

    with scripted(call("events_between", days=31), answer) as script:
        response = Api().post(
            "question", {"agent": "library", "question": "Xyzzy?", "language": language}
        )
    body = response.json()
    references = body["answer"]["references"]
    assert body["outcome"] == "answered"
    assert [reference["label"] for reference in references] == [title, title]
    assert len({reference["url"] for reference in references}) == 2
    assert all(f"/{language}/" in reference["url"] for reference in references)
    lines = [line for line in str(script.requests[-1].messages[-1].content).split("\n")
             if line.startswith(f"{title} ·")]  # fmt: skip
    assert len(set(lines)) == 2


def test_events_come_by_date_and_within_the_days_asked_for(site):
    fortnight = events_between.invoke({})
    assert fortnight == sorted(fortnight, key=lambda event: event.starts_at)
    assert 0 < len(fortnight) < Event.objects.count()
    assert len(events_between.invoke({"days": 90})) == Event.objects.count()
    assert events_between.invoke({"first_day": "2020-01-01"}) == []
    harbour = events_between.invoke({"days": 90, "branch": "harbour"})
    assert {event.branch for event in harbour} == {"harbour"}


def test_the_agent_of_the_demo_has_it(site):
    tool = Agent.objects.get(slug="library").tools.get(tool="events_between")
    assert tool.is_source and tool.max_results == 20
