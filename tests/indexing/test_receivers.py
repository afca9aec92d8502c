import logging

import pytest
from django.core.management import call_command
from django.db import transaction

from ai_answers.indexing.background import wait_until_complete
from ai_answers.receivers import connect
from ai_answers.retrieval import get_index
from ai_answers.sources import get_source
from tests.site.models import Article

pytestmark = pytest.mark.django_db(transaction=True)


def found(query="heron"):
    hits = get_index().search(query, tags=frozenset({"members", "staff"}), limit=20)
    return sorted({hit.chunk.title for hit in hits})


def test_a_saved_object_is_found_a_changed_one_anew_and_a_deleted_one_not():
    page = Article.objects.create(title="Birds", body="The heron.")
    assert found() == ["Birds"]
    page.body = "The gull."
    page.save()
    assert (found(), found("gull")) == ([], ["Birds"])
    page.delete()
    assert found("gull") == []
    assert get_index().stats().documents == 0


def test_nothing_happens_before_the_commit_and_nothing_after_a_rollback():
    with transaction.atomic():
        Article.objects.create(title="Birds", body="The heron.")
        assert found() == []
    assert found() == ["Birds"]
    with pytest.raises(RuntimeError), transaction.atomic():
        Article.objects.create(title="More", body="The heron.")
        raise RuntimeError
    assert found() == ["Birds"]


def test_connecting_twice_indexes_once(django_assert_max_num_queries):
    connect()
    with django_assert_max_num_queries(30):
        Article.objects.create(title="Birds", body="The heron.")


def test_an_error_in_indexing_never_breaks_the_save(monkeypatch, caplog):
    source = get_source("site.article")
    monkeypatch.setattr(source, "get_queryset", lambda: 1 / 0)
    with caplog.at_level(logging.ERROR):
        page = Article.objects.create(title="Birds", body="The heron.")
    assert Article.objects.filter(pk=page.pk).exists()
    assert "out of step" in caplog.text
    assert "heron" not in caplog.text


def test_raw_fixtures_are_left_to_the_command(tmp_path):
    fixture = tmp_path / "articles.json"
    fixture.write_text(
        '[{"model": "site.article", "pk": 5, "fields": {"title": "Birds", "body": "The heron."}}]'
    )
    call_command("loaddata", str(fixture), verbosity=0)
    assert found() == []
    call_command("ai_answers_index", verbosity=0)
    assert found() == ["Birds"]


def test_a_save_calls_no_embedding_and_the_vectors_follow_on_their_own_thread(embedding):
    embedding.is_down = True
    Article.objects.create(title="Kiosk", body="Coffee for all.")
    assert found("coffee") == ["Kiosk"]
    assert wait_until_complete(timeout_seconds=20)
    assert get_index().stats().vectors == 0

    embedding.is_down = False
    Article.objects.create(title="Lounge", body="Coffee for members.")
    assert wait_until_complete(timeout_seconds=20)
    assert get_index().stats().vectors == 1
    assert found("espresso") == ["Lounge"]


def test_other_models_are_nobodys_business():
    from django.contrib.auth.models import Group

    Group.objects.create(name="heron")
    assert found() == []
