"""Writers beside each other: none puts back what another has replaced or taken out."""

import pytest
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.db.models.deletion import Collector

from ai_answers.indexing import index_source
from ai_answers.retrieval import get_index
from ai_answers.signals import content_indexed
from ai_answers.sources import PublicSource, get_source, objects_changed, register, unregister
from tests.site.models import Article

pytestmark = pytest.mark.django_db(transaction=True)


def found(query="heron"):
    hits = get_index().search(query, tags=frozenset(), limit=50)
    return sorted({hit.chunk.title for hit in hits})


@pytest.fixture
def meanwhile(monkeypatch):
    """Do something once, while a run holds the first object it has read."""

    def does(action):
        source, done = get_source("site.article"), []
        real = type(source).get_content

        def get_content(self, obj, language):
            text = real(self, obj, language)
            if not done:
                done.append(True)
                action()
            return text

        monkeypatch.setattr(type(source), "get_content", get_content)
        return source

    return does


def test_a_run_does_not_put_back_what_was_saved_while_it_read(meanwhile):
    page = Article.objects.create(title="Walks", body="A gull.")
    Article.objects.filter(pk=page.pk).update(body="A tern.")
    source = meanwhile(lambda: Article(pk=page.pk, title="Walks", body="A heron.").save())
    report = index_source(source)
    assert (found("heron"), found("tern")) == (["Walks"], [])
    assert (report.changed, report.unchanged) == (0, 1)  # another one has changed it


def test_a_run_leaves_no_ghost_of_what_was_deleted_while_it_read(meanwhile):
    [page] = Article.objects.bulk_create([Article(title="Walks", body="A heron.")])
    index_source(meanwhile(lambda: Article.objects.filter(pk=page.pk).delete()))
    assert get_index().stats().documents == 0


def test_a_run_does_not_take_out_what_was_made_while_it_read(meanwhile):
    Article.objects.bulk_create([Article(title="Walks", body="A gull.")])
    index_source(meanwhile(lambda: Article.objects.create(title="New", body="A heron.")))
    assert found() == ["New"]


def test_a_run_does_not_take_out_what_came_back_while_it_read(meanwhile, monkeypatch):
    back = Article.objects.create(title="Back", body="A heron.")
    Article.objects.bulk_create([Article(title="Walks", body="A gull.")])
    hidden = [back.pk]
    shown = Article.objects.exclude
    source = type(get_source("site.article"))
    monkeypatch.setattr(source, "get_queryset", lambda self: shown(pk__in=hidden))

    def publish():
        hidden.clear()
        back.save()

    index_source(meanwhile(publish))
    assert found() == ["Back"]


def test_models_that_are_nobodys_source_keep_their_fast_ways():
    """A listener to every model makes Django load all it deletes, such as a million sessions."""
    assert Collector(using="default").can_fast_delete(Session.objects.all())


def test_a_savepoint_for_each_save_still_makes_one_run():
    reports = []

    def listen(sender, index, report, **kwargs):
        reports.append(report)

    content_indexed.connect(listen)
    try:
        with transaction.atomic():
            for number in range(30):
                with transaction.atomic():
                    Article.objects.create(title=f"Page {number}", body="A heron.")
            with pytest.raises(ZeroDivisionError), transaction.atomic():
                Article.objects.create(title="Ghost", body="A heron.")
                raise ZeroDivisionError
    finally:
        content_indexed.disconnect(listen)
    assert [report.added for report in reports] == [30]
    assert "Ghost" not in found()


def test_a_save_outside_of_any_transaction_is_not_broken_where_autocommit_is_off(caplog):
    connection.set_autocommit(False)
    try:
        Article.objects.create(title="Walks", body="A heron.")
        connection.commit()
    finally:
        connection.set_autocommit(True)
    assert Article.objects.count() == 1
    assert "run ai_answers_index" in caplog.text


@pytest.fixture
def people():
    """Users that quote the names of their groups."""

    @register(User)
    class UserSource(PublicSource):
        depends_on = [Group]

        def get_content(self, obj, language):
            return f"Person in {', '.join(obj.groups.values_list('name', flat=True))}"

    yield get_source("auth.user")
    unregister(User)


def test_deleting_what_a_text_quotes_indexes_those_that_quoted_it(people):
    """The relation is gone before the deletion is told of."""
    user, group = User.objects.create(username="ada"), Group.objects.create(name="herons")
    user.groups.add(group)
    assert found("herons") == ["ada"]
    group.delete()
    assert found("herons") == []


def test_an_error_in_get_affected_breaks_neither_save_nor_transaction(people, caplog):
    type(people).get_affected = lambda self, instance: User.objects.get(pk=-1)
    with transaction.atomic():
        Group.objects.create(name="herons").delete()
        Group.objects.create(name="gulls")
    assert Group.objects.count() == 1
    assert "out of step" in caplog.text


def test_bulk_changes_are_heard_of_where_the_site_says_so():
    with transaction.atomic():
        objects_changed(Article.objects.bulk_create([Article(title="Bulk", body="A heron.")]))
    assert found() == ["Bulk"]
    with transaction.atomic():
        herons = Article.objects.filter(body="A heron.")
        objects_changed(herons)
        herons.update(body="A gull.")
    assert (found(), found("gull")) == ([], ["Bulk"])
    with pytest.raises(LookupError, match="Session"):
        objects_changed(Session.objects.all())
