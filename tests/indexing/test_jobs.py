"""Indexing on a thread: one an index, followed by anybody, given up by nobody but the dead."""

from __future__ import annotations

import datetime
import threading
import time

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from ai_answers.indexing.jobs import has_died, is_running, start_job, stop_job
from ai_answers.models import IndexedDocument, IndexingJob
from ai_answers.retrieval import get_index
from ai_answers.sources import get_source
from tests.site.models import Article

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def articles():
    pages = [Article(title=f"Page {n}", body=f"The heron of gate {n}.") for n in range(3)]
    return Article.objects.bulk_create(pages)


@pytest.fixture
def gate(monkeypatch):
    """Holds the source's texts back until it is opened."""
    opened, reached = threading.Event(), threading.Event()
    source = get_source("site.article")
    get_content = source.get_content

    def slow(obj, language):
        reached.set()
        assert opened.wait(20)
        return get_content(obj, language)

    monkeypatch.setattr(source, "get_content", slow)
    opened.reached = reached
    yield opened
    opened.set()
    ended()


def ended():
    """Wait for the thread; its last act is the row."""
    for thread in threading.enumerate():
        if thread.name == "ai_answers-indexing":
            thread.join(20)
    return IndexingJob.objects.filter(index="default").first()


def start(*, rebuild=False, user=None):
    return start_job("default", rebuild=rebuild, user=user)


def test_an_index_is_brought_in_step_and_the_row_says_so(articles):
    user = User.objects.create_user("editor")
    assert start(user=user)
    job = ended()
    assert job.status == "done" and job.error == "" and job.failures == []
    assert (job.report["added"], job.report["chunks"]) == (3, 3)
    assert job.started_by == user and job.finished_at >= job.started_at
    assert get_index().stats().documents == 3


def test_only_a_rebuild_writes_what_has_not_changed(articles):
    start()
    ended()
    start()
    assert ended().report["unchanged"] == 3
    start(rebuild=True)
    assert ended().report["changed"] == 3


def test_a_second_start_is_refused_while_one_runs(articles, gate):
    assert start()
    assert gate.reached.wait(20)
    assert is_running(IndexingJob.objects.get())
    assert not start() and not start(rebuild=True)
    gate.set()
    assert ended().report["added"] == 3
    assert start()
    ended()


def test_a_stop_is_heeded_and_keeps_what_was_written(articles, gate):
    start()
    assert gate.reached.wait(20)
    assert stop_job("default")
    time.sleep(1.5)  # it looks each second
    gate.set()
    job = ended()
    assert job.status == "stopped" and job.finished_at
    assert not stop_job("default")
    start()
    assert ended().status == "done"
    assert get_index().stats().documents == 3


def test_it_shows_life_while_one_call_takes_long(articles, gate):
    start()
    assert gate.reached.wait(20)
    before = IndexingJob.objects.get().heartbeat_at
    for _ in range(100):
        if IndexingJob.objects.get().heartbeat_at > before:
            return
        time.sleep(0.1)
    pytest.fail("no sign of life in ten seconds")


def stale_row():
    old = timezone.now() - datetime.timedelta(minutes=5)
    return IndexingJob.objects.create(
        index="default", status="running", token="gone", started_at=old, heartbeat_at=old
    )


def test_a_row_of_a_dead_process_is_known_and_taken_over(articles):
    job = stale_row()
    assert has_died(job) and not is_running(job)
    assert not stop_job("default")
    assert start()
    job = ended()
    assert job.status == "done" and job.report["added"] == 3 and not has_died(job)


def test_one_that_was_taken_for_dead_and_was_not_gives_way(articles, gate):
    """Its row is another's now: it writes nothing there and stops."""
    start()
    assert gate.reached.wait(20)
    IndexingJob.objects.update(token="another", source="of another")
    time.sleep(1.5)
    gate.set()
    job = ended()
    assert (job.status, job.source, job.finished_at) == ("running", "of another", None)


def test_objects_that_cannot_be_read_are_named_and_the_others_indexed(articles, monkeypatch):
    source = get_source("site.article")
    get_title = source.get_title

    def broken(obj, language):
        if obj.pk == articles[1].pk:
            raise ValueError("no such\nthing")
        return get_title(obj, language)

    monkeypatch.setattr(source, "get_title", broken)
    start()
    job = ended()
    assert job.status == "done" and job.report["failed"] == 1 and job.report["added"] == 2
    assert job.failures == [[f"site.article:{articles[1].pk}", "ValueError: no such"]]


def test_what_ended_it_is_said(articles, monkeypatch):
    source = get_source("site.article")

    def exit_now():
        raise SystemExit("out")

    monkeypatch.setattr(source, "get_ids", exit_now)
    start()
    job = ended()
    assert (job.status, job.error) == ("failed", "SystemExit: out")


def test_an_embedding_that_fails_is_named_with_its_reason(articles, settings):
    settings.AI_ANSWERS = {
        **settings.AI_ANSWERS,
        "EMBEDDINGS": {"bad": {"BACKEND": f"{__name__}.BadEmbedding", "TRIES": 1}},
        "INDEXES": {"default": {
            "BACKEND": "ai_answers.retrieval.database.DatabaseIndex", "EMBEDDING": "bad",
        }},
    }  # fmt: skip
    start()
    job = ended()
    assert job.status == "failed"
    assert "'bad'" in job.error and "PermissionError: the key has expired" in job.error


class BadEmbedding:
    def embed_documents(self, texts):
        raise PermissionError("the key has expired")


def test_a_source_that_is_no_more_goes(articles):
    IndexedDocument.objects.create(index="default", entity_type="gone.model", entity_id="1")
    start()
    assert ended().report["removed"] == 1
    assert get_index().entity_types() == {"site.article"}


def test_it_begins_when_the_request_is_committed_and_not_if_it_is_rolled_back(articles):
    with transaction.atomic():
        start()
        assert not [t for t in threading.enumerate() if t.name == "ai_answers-indexing"]
    assert ended().status == "done"
    with pytest.raises(RuntimeError), transaction.atomic():
        start()
        raise RuntimeError
    assert ended().status == "done"
