"""``ai_answers_search``: what a search finds, and why something is missing."""

from __future__ import annotations

import io
import json

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from ai_answers.indexing import index_source
from ai_answers.indexing.diagnosis import REASONS
from ai_answers.models import AgentTool
from ai_answers.sources import get_source
from tests.content import make_agent, make_pages
from tests.site.models import Article

pytestmark = pytest.mark.django_db


@pytest.fixture
def pages():
    return {page.title: page for page in make_pages()}


def run(*arguments, **options):
    out = io.StringIO()
    call_command("ai_answers_search", *arguments, stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue()


def test_hits_come_with_their_scores_and_the_rest_with_its_reason(pages):
    written = run("parcels at the depot, coffee in the lounge")
    assert "bm25" in written.splitlines()[0]
    assert "Depot times [en]" in written
    assert "Zeiten des Depots [de]" in written and str(REASONS["other_language"]) in written


def test_it_searches_as_the_user_named(pages):
    User.objects.create_user("member")
    assert "lounge" not in run("coffee lounge")
    assert "Members' lounge" in run("coffee lounge", user="member")
    with pytest.raises(CommandError, match="'nobody'"):
        run("coffee", user="nobody")


def test_a_page_that_has_just_become_private_is_named_as_closed(pages):
    Article.objects.filter(title="Fees").update(audience="staff")
    written = run("what does a parcel cost, insurance")
    assert "Fees" in written and str(REASONS["closed"]) in written


def test_json_has_everything_and_is_ascii(pages):
    found = json.loads(run("Öffnung des Depots, Pakete", json=True, language="de"))
    assert found["score_kind"] == "bm25" and found["notes"] == []
    assert {"object", "scores", "fate", "title"} <= set(found["candidates"][0])


def test_hits_come_with_their_address_and_a_reason_as_json_too(pages):
    assert f"/articles/{pages['Fees'].pk}/" in run("insurance")
    found = json.loads(reason(pages["Fees"], "insurance", json=True))
    assert (found["reason"], found["place"]) == ("hit", 1)


def test_nothing_found_is_said(pages):
    assert "Nothing was found." in run("xyzzy")


def test_an_agent_gives_index_amount_and_lowest_score(pages):
    make_agent()
    AgentTool.objects.update(amount=1, min_score=0.1)
    assert str(REASONS["beyond"]) in run("parcel costs, label address", agent="depot")


def test_a_hostile_title_drives_no_terminal(pages):
    Article.objects.create(title="Evil \x1b[2J\u202e\nname", body="A heron.")
    index_source(get_source("site.article"))
    written = run("heron")
    assert "\x1b" not in written and "\u202e" not in written and "Evil" in written


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"amount": 0}, "1 or more"),
        ({"index": "gone"}, "'gone'"),
        ({"agent": "gone"}, "gone"),
        ({"object": "nonsense"}, "blog.article:7"),
    ],
)
def test_wrong_arguments_say_what_would_be_right(pages, arguments, words):
    with pytest.raises(CommandError, match=words):
        run("heron", **arguments)


def reason(page, query, **options):
    return run(query, object=f"site.article:{getattr(page, 'pk', page)}", **options)


def test_why_an_object_is_missing(pages, settings, monkeypatch):
    """One reason each, the first that applies."""
    asked = "What does a parcel cost?"
    assert str(REASONS["hit"]) in reason(pages["Fees"], asked)
    assert "(place 1)" in reason(pages["Fees"], asked)
    assert str(REASONS["gone"]) in reason(99_999, asked)
    assert str(REASONS["denied"]) in reason(pages["Alarm routine"], "alarm")
    assert str(REASONS["no_match"]) in reason(pages["Labels"], "insurance")
    assert str(REASONS["low"]) in reason(pages["Fees"], asked, min_score=99.0)
    assert str(REASONS["beyond"]) in reason(pages["Depot times"], "costs friday", amount=1)
    assert str(REASONS["no_source"]) in run(asked, object="gone.model:1")

    Article.objects.filter(pk=pages["Fees"].pk).update(body="The heron is free.")
    assert str(REASONS["hit"]) in reason(pages["Fees"], asked)
    assert str(REASONS["stale"]) in reason(pages["Fees"], "heron")
    source = get_source("site.article")
    with monkeypatch.context() as patched:
        patched.setattr(source, "get_url", lambda obj, language: 1 / 0)
        assert "cannot be read: ZeroDivisionError" in reason(pages["Fees"], asked)

    pages["Fees"].body = ""
    pages["Fees"].title = ""
    Article.objects.filter(pk=pages["Fees"].pk).update(body="", title="")
    assert str(REASONS["no_text"]) in reason(pages["Fees"], asked)
    made = Article(title="Unheard", body="A heron.")
    Article.objects.bulk_create([made])
    assert str(REASONS["not_indexed"]) in reason(made, "heron")

    monkeypatch.setattr(source, "can_view", lambda asker, obj: True)
    assert str(REASONS["hidden_by_tags"]) in reason(pages["Alarm routine"], "alarm")

    only = {"BACKEND": "ai_answers.retrieval.database.DatabaseIndex", "SOURCES": ["docs"]}
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "INDEXES": {"default": only}}
    assert str(REASONS["not_in_index"]) in reason(pages["Labels"], asked)
