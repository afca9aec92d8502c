"""The page of the indexes: their state, and a button that indexes."""

from __future__ import annotations

import datetime
import threading

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import resolve
from django.utils import timezone
from django.utils.html import escape

from ai_answers.indexing import index_source
from ai_answers.models import IndexingJob
from ai_answers.retrieval import get_index
from ai_answers.sources import get_source
from tests.site.models import Article

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/admin/ai_answers/indexingjob/"
DATABASE = "ai_answers.retrieval.database.DatabaseIndex"


def post(client, action="start", **fields):
    return client.post(f"{PAGE}{action}/", {"index": "default", "how": "update", **fields})


def ended():
    for thread in threading.enumerate():
        if thread.name == "ai_answers-indexing":
            thread.join(20)
    return IndexingJob.objects.get(index="default")


def with_indexes(settings, **indexes):
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "INDEXES": indexes}


def job(**fields):
    now = timezone.now()
    defaults = {
        "index": "default", "status": "running", "token": "x", "started_at": now,
        "heartbeat_at": now,
    }  # fmt: skip
    return IndexingJob.objects.create(**defaults | fields)


def long_ago():
    return timezone.now() - datetime.timedelta(minutes=5)


def test_it_is_in_the_sidebar_and_beside_the_documents(admin_client):
    assert f'href="{PAGE}"' in admin_client.get("/admin/").text
    assert PAGE in admin_client.get("/admin/ai_answers/indexeddocument/").text


def test_the_state_of_each_index_is_shown(admin_client, settings):
    Article.objects.create(title="Heron", body="A heron.")
    index_source(get_source("site.article"))
    with_indexes(
        settings,
        default={"BACKEND": DATABASE, "CHUNK_TOKENS": 90, "CHUNK_OVERLAP": 9},
        other={"BACKEND": DATABASE, "SOURCES": []},
        broken={"BACKEND": "no.such.Index"},
    )
    page = admin_client.get(PAGE)
    shown = {index["overview"].alias: index["overview"] for index in page.context["indexes"]}
    assert shown["default"].stats.documents == 1 and "site.article" in shown["default"].sources
    seconds = (timezone.now() - shown["default"].written_at).total_seconds()
    assert 0 <= seconds < 60
    assert "1 of 1" in shown["default"].stale and escape(shown["default"].stale) in page.text
    assert shown["other"].sources == () and shown["other"].written_at is None
    assert "no.such.Index" in shown["broken"].problem
    assert page.text.count('value="rebuild"') == 2


class Counting:
    """An embedding; which one answers is told by the settings alone."""

    def embed_documents(self, texts):
        return [[1.0, float(len(text))] for text in texts]

    def embed_query(self, text):
        return [1.0, 1.0]


def test_it_says_which_embedding_searches_use(admin_client, settings):
    Article.objects.bulk_create([Article(title=f"Heron {n}", body="A heron.") for n in range(3)])
    entry = {"BACKEND": f"{__name__}.Counting"}
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "EMBEDDINGS": {"old": entry, "new": entry}}
    with_indexes(settings, default={"BACKEND": DATABASE, "EMBEDDING": "old"})

    def serving():
        page = admin_client.get(PAGE)
        return page.context["indexes"][0]["overview"].serving, page.text

    assert serving()[0] is None and "words alone" in serving()[1]
    index_source(get_source("site.article"))
    assert serving()[0] == "old"
    with_indexes(settings, default={"BACKEND": DATABASE, "EMBEDDING": "new"})
    assert serving()[0] == "old" and "searches use old until" in serving()[1]
    post(admin_client)
    ended()
    assert serving()[0] == "new" and "until" not in serving()[1]


def test_a_click_indexes_and_the_page_tells_what_was_done(admin_client, admin_user):
    Article.objects.bulk_create([Article(title="Heron", body="A heron.")])
    assert post(admin_client).url == PAGE
    assert ended().started_by == admin_user
    assert get_index().stats().documents == 1
    page = admin_client.get(PAGE).text
    assert "Indexing has begun: default." in page and "Last update" in page and "1 added" in page
    post(admin_client, how="rebuild")
    ended()
    assert "Last rebuild" in admin_client.get(PAGE).text


def test_progress_is_told_as_json_and_in_the_page(admin_client):
    job(source="site.article", done=3, total=9)
    state = admin_client.get(f"{PAGE}state/")
    assert "no-store" in state["Cache-Control"]
    assert state.json()["default"] == {
        "is_running": True, "has_died": False, "status": "site.article: 3 of 9",
        "done": 3, "total": 9,
    }  # fmt: skip
    IndexingJob.objects.update(done=0, total=0)
    assert admin_client.get(f"{PAGE}state/").json()["default"]["status"] == "site.article …"
    IndexingJob.objects.update(done=3, total=9)
    page = admin_client.get(PAGE).text
    assert 'value="3" max="9"' in page and "data-running" in page
    assert 'value="update"' not in page


def test_a_second_one_is_refused_with_a_word(admin_client):
    running = job()
    post(admin_client)
    assert IndexingJob.objects.get().token == running.token
    assert "It is being indexed already: default." in admin_client.get(PAGE).text


def test_it_can_be_stopped(admin_client):
    job(source="site.article")
    post(admin_client, "stop")
    assert IndexingJob.objects.get().stop_requested
    assert "Stopping" in admin_client.get(PAGE).text
    IndexingJob.objects.update(status="done")
    post(admin_client, "stop")
    assert "Nothing is being indexed there." in admin_client.get(PAGE).text


def test_a_dead_process_is_recognised_and_its_work_taken_up(admin_client):
    job(heartbeat_at=long_ago(), started_at=long_ago())
    assert admin_client.get(f"{PAGE}state/").json()["default"]["has_died"]
    page = admin_client.get(PAGE).text
    assert "has ended" in page and "data-running" not in page
    post(admin_client)
    assert ended().status == "done"


def test_hostile_names_and_errors_are_escaped(admin_client):
    evil = "<img src=x onerror=y>"
    job(status="failed", error=evil, failures=[[evil, evil]], finished_at=timezone.now())
    page = admin_client.get(PAGE).text
    assert "<img" not in page and page.count("&lt;img src=x") == 3


@pytest.mark.parametrize("alias", ["", "gone", "<b>"])
def test_only_an_index_of_the_settings_is_started(admin_client, alias):
    post(admin_client, index=alias)
    assert not IndexingJob.objects.exists()
    assert "There is no such index to write to." in admin_client.get(PAGE).text


class SomeRetriever:
    """Asked by nobody here."""


def test_an_index_that_others_fill_is_left_alone(admin_client, settings):
    entry = {"retriever": {"BACKEND": f"{__name__}.SomeRetriever"}}
    backend = "ai_answers.retrieval.retriever.RetrieverIndex"
    with_indexes(settings, default={"BACKEND": backend, "OPTIONS": entry})
    page = admin_client.get(PAGE).text
    assert "filled by others" in page and 'value="rebuild"' not in page
    post(admin_client)
    assert not IndexingJob.objects.exists()


def allowed(client):
    """What a person gets: the page, its news, a start, a stop; and whether there are buttons."""
    page, state = client.get(PAGE), client.get(f"{PAGE}state/")
    codes = [r.status_code for r in (page, state, post(client), post(client, "stop"))]
    if IndexingJob.objects.exists():
        ended()
    return codes, page.status_code == 200 and 'value="rebuild"' in page.text


def test_who_may_look_and_who_may_start(client):
    assert allowed(client) == ([302, 302, 302, 302], False)
    user = User.objects.create_user("user")
    client.force_login(user)
    assert allowed(client) == ([302, 302, 302, 302], False)
    user.is_staff = True
    user.save()
    assert allowed(client) == ([403, 403, 403, 403], False)
    user.user_permissions.add(Permission.objects.get(codename="view_indexingjob"))
    assert allowed(client) == ([200, 200, 403, 403], False)
    user.user_permissions.set([Permission.objects.get(codename="start_indexing")])
    assert allowed(client) == ([200, 200, 302, 302], True)
    client.force_login(User.objects.create_superuser("root"))
    assert allowed(client) == ([200, 200, 302, 302], True)


def test_a_link_from_elsewhere_starts_nothing(admin_user):
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    assert post(client).status_code == 403
    assert client.get(f"{PAGE}start/").status_code == 405
    assert not IndexingJob.objects.exists()


@pytest.mark.parametrize("rest", ["add/", "1/change/", "1/delete/", "1/history/"])
def test_the_row_is_not_edited_by_hand(rest):
    assert resolve(f"{PAGE}{rest}").url_name is None  # the admin's own 404
