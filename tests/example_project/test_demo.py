"""``manage.py demo``: a site that answers, from nothing, as often as one likes."""

from __future__ import annotations

import io
import socket

import pytest
from django.core.management import CommandError, call_command

from ai_answers.models import Agent, AgentTool, AnswerBlock, QuestionBlock, SourcesBlock
from example_project.library.models import Page

TABLES = (Agent, AgentTool, AnswerBlock, QuestionBlock, SourcesBlock, Page)


def run_demo() -> str:
    out = io.StringIO()
    call_command("demo", "--no-serve", stdout=out)
    return out.getvalue()


def test_demo_may_be_repeated_and_says_what_it_did(site):
    Page.objects.all().delete()

    first = run_demo()
    counts = [model.objects.count() for model in TABLES]
    second = run_demo()

    assert "23 new" in first
    assert "0 new, 0 changed" in second
    assert counts == [model.objects.count() for model in TABLES]
    assert "http://" not in second  # --no-serve


def test_a_port_in_use_is_said_before_anything_is_set_up(db):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=f"Port {port} is in use; try --port {port + 1}"):
            call_command("demo", "--port", str(port), stdout=io.StringIO())
    with pytest.raises(CommandError, match="Cannot serve on 192.0.2.1:8000: "):
        call_command("demo", "--host", "192.0.2.1", stdout=io.StringIO())
    with pytest.raises(CommandError, match="Cannot serve on 127.0.0.1:99999: "):
        call_command("demo", "--port", "99999", stdout=io.StringIO())
    assert not Agent.objects.exists()


def test_what_demo_says_reaches_a_file_line_by_line(site):
    written = io.BytesIO()
    out = io.TextIOWrapper(written, encoding="utf-8")
    call_command("demo", "--no-serve", stdout=out)
    assert "Agent “" in written.getvalue().decode()  # nothing was flushed by hand


def test_demo_sets_up_a_public_agent_that_must_search(site):
    agent = Agent.objects.get(slug="library")

    assert agent.enabled and agent.access == Agent.Access.PUBLIC
    search, events = agent.tools.all()
    assert (search.tool, search.index) == ("search", "default")
    assert (events.tool, events.is_source) == ("events_between", True)


def test_every_question_box_hands_over_to_the_answer_page_of_its_language(site):
    for block in QuestionBlock.objects.select_related("target"):
        german = block.slug.endswith("-de")
        assert block.target_url == ("/de/ask/" if german else "/en/ask/")
        assert block.target.slug == ("main-de" if german else "main")


def test_a_setting_an_editor_changed_in_the_admin_is_reset_by_demo_alone(site):
    Agent.objects.filter(slug="library").update(enabled=False)

    run_demo()

    assert Agent.objects.get(slug="library").enabled
