"""The page that starts indexing and shows how far it is."""

from __future__ import annotations

import datetime
import time

import pytest
from django.contrib.auth.models import Permission, User
from django.utils import timezone

from ai_answers.indexing import jobs
from ai_answers.models import IndexingJob
from ai_answers.retrieval import get_index
from ai_answers.sources import get_source
from tests.site.models import Article

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/admin/ai_answers/indexeddocument/indexes/"
PROGRESS = "/admin/ai_answers/indexeddocument/progress/"


def articles(count):
    Article.objects.bulk_create([Article(title=f"Page {n}", body="A heron.") for n in range(count)])


def wait(client):
    for _ in range(200):
        [job] = client.get(PROGRESS).json()["jobs"]
        if not job["is_running"]:
            return job
        time.sleep(0.05)
    raise AssertionError(f"still running: {job}")


def test_a_button_indexes_and_the_page_says_how_far_it_is(admin_client):
    articles(30)
    assert "0 documents" in admin_client.get(PAGE).content.decode()
    assert admin_client.post(PAGE, {"index": "default", "update": ""}).status_code == 302
    job = wait(admin_client)
    assert "30 added" in job["text"] and not job["is_error"] and job["failures"] == []
    assert get_index().stats().documents == 30
    assert "30 added" in admin_client.get(PAGE).content.decode()


def test_a_rebuild_writes_everything_anew(admin_client):
    articles(3)
    admin_client.post(PAGE, {"index": "default", "update": ""})
    wait(admin_client)
    admin_client.post(PAGE, {"index": "default", "rebuild": ""})
    assert "3 changed" in wait(admin_client)["text"]


def running(seconds_ago):
    moment = timezone.now() - datetime.timedelta(seconds=seconds_ago)
    return IndexingJob.objects.create(
        index="default", is_running=True, source="site.article", done=3, total=9,
        started_at=moment, heartbeat_at=moment,
    )  # fmt: skip


def test_two_at_once_are_refused_and_a_dead_one_is_not_waited_for(admin_client):
    job = running(5)
    assert jobs.start("default", rebuild=False) is False
    [shown] = admin_client.get(PROGRESS).json()["jobs"]
    assert shown["is_running"] and shown["text"] == "site.article 3/9"
    job.delete()
    running(120)
    [shown] = admin_client.get(PROGRESS).json()["jobs"]
    assert not shown["is_running"] and shown["is_error"]
    assert jobs.start("default", rebuild=False) is True
    assert not wait(admin_client)["is_error"]


def test_objects_that_cannot_be_read_are_listed(admin_client, monkeypatch):
    articles(2)
    source = get_source("site.article")
    monkeypatch.setattr(source, "get_content", lambda obj, language: 1 / 0)
    admin_client.post(PAGE, {"index": "default", "update": ""})
    job = wait(admin_client)
    assert "2 failed" in job["text"]
    assert {failure["error"] for failure in job["failures"]} == {"ZeroDivisionError"}


def test_an_error_ends_the_run_and_is_shown(admin_client, monkeypatch):
    source = get_source("site.article")
    monkeypatch.setattr(source, "get_ids", lambda: 1 / 0)
    admin_client.post(PAGE, {"index": "default", "update": ""})
    job = wait(admin_client)
    assert job["is_error"] and job["text"] == "ZeroDivisionError"


def test_an_unknown_index_is_not_started(admin_client):
    response = admin_client.post(PAGE, {"index": "gone"}, follow=True)
    assert "There is no such index." in response.content.decode()
    assert not IndexingJob.objects.exists()


def test_looking_and_starting_are_two_permissions(client):
    assert client.get(PAGE).status_code == 302
    staff = User.objects.create_user("staff", is_staff=True)
    client.force_login(staff)
    assert client.get(PAGE).status_code == client.get(PROGRESS).status_code == 403
    staff.user_permissions.add(Permission.objects.get(codename="view_indexeddocument"))
    page = client.get(PAGE)
    assert page.status_code == 200 and "Rebuild" not in page.content.decode()
    assert client.post(PAGE, {"index": "default"}).status_code == 403
    staff.user_permissions.add(Permission.objects.get(codename="change_indexeddocument"))
    assert "Rebuild" in client.get(PAGE).content.decode()
