"""An index stays in step with what happens on a site, and says when it is not."""

from __future__ import annotations

import argparse
import datetime
import io
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.db import connections, transaction
from django.utils import timezone

from ai_answers.exceptions import ConfigurationError
from ai_answers.indexing import index_source, is_stale
from ai_answers.indexing.background import wait_until_complete
from ai_answers.indexing.watching import Watch
from ai_answers.management.commands import ai_answers_index
from ai_answers.management.commands.ai_answers_index import _moment
from ai_answers.retrieval import get_index
from ai_answers.retrieval.embeddings import embedding_identity
from ai_answers.sources import (
    PublicDirectorySource,
    PublicSource,
    get_source,
    register,
    register_source,
    unregister,
)
from tests.retrieval.embedding import ConceptEmbedding, settings_with_embedding
from tests.site.models import Article

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).parents[2]


def found(query="heron", limit=50):
    tags = frozenset({"members", "staff"})
    return sorted({h.chunk.title for h in get_index().search(query, tags=tags, limit=limit)})


def run(*arguments):
    out = io.StringIO()
    call_command("ai_answers_index", *arguments, stdout=out, no_color=True)
    return out.getvalue()


def test_a_transaction_is_brought_in_at_once_and_each_object_once(django_assert_max_num_queries):
    source, calls = get_source("site.article"), []
    real = source.get_objects

    def get_objects(ids):
        calls.append(list(ids))
        return real(ids)

    source.get_objects = get_objects
    try:
        with transaction.atomic():
            pages = [Article(title=f"Page {n}", body="A heron.") for n in range(30)]
            for page in [*pages, *pages]:
                page.save()
    finally:
        del source.get_objects
    # Read, and looked at once more after they were added: one may have been deleted meanwhile.
    assert [len(ids) for ids in calls] == [30, 30]
    assert len(found()) == 30


def test_a_savepoint_that_is_rolled_back_leaves_no_ghost():
    with transaction.atomic():
        Article.objects.create(title="Outer", body="A heron.")
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            Article.objects.create(title="Inner", body="A heron.")
            raise ZeroDivisionError
        with transaction.atomic():
            Article.objects.create(title="Second", body="A heron.")
        Article.objects.create(title="Last", body="A heron.")
    assert found() == ["Last", "Outer", "Second"]


def test_deleted_and_made_again_in_one_transaction():
    page = Article.objects.create(title="Before", body="A heron.")
    with transaction.atomic():
        key = page.pk
        page.delete()
        Article.objects.create(pk=key, title="After", body="A heron.")
    assert found() == ["After"]


@pytest.fixture
def people():
    """Users with the names of their groups in their text, and groups with their members."""

    @register(User)
    class UserSource(PublicSource):
        depends_on = [Group]

        def get_content(self, obj, language):
            return f"Person in {', '.join(obj.groups.values_list('name', flat=True))}"

    @register(Group)
    class GroupSource(PublicSource):
        def get_content(self, obj, language):
            return f"Team of {', '.join(obj.user_set.values_list('username', flat=True))}"

    yield
    unregister(User)
    unregister(Group)


def test_changed_relations_are_heard_at_both_ends(people):
    ada, birds = User.objects.create(username="ada"), Group.objects.create(name="birds")
    ada.groups.add(birds)
    assert (found("birds"), found("ada")) == (["ada", "birds"], ["ada", "birds"])
    ada.groups.remove(birds)
    assert (found("birds"), found("ada")) == (["birds"], ["ada"])
    birds.user_set.set([ada])
    assert found("birds") == ["ada", "birds"]
    ada.groups.clear()
    assert (found("birds"), found("ada")) == (["birds"], ["ada"])


def test_what_quotes_another_object_follows_it(people):
    ada, birds = User.objects.create(username="ada"), Group.objects.create(name="birds")
    ada.groups.add(birds)
    birds.name = "herons"
    birds.save()
    assert "ada" in found("herons")
    assert found("birds") == []


def test_check_finds_what_nobody_heard_of_and_writes_nothing():
    page = Article.objects.create(title="Page", body="A heron.")
    assert "Dry run: 0 added" in run("--check")
    Article.objects.filter(pk=page.pk).update(body="A gull.")
    Article.objects.bulk_create([Article(title="Bulk", body="A tern.")])
    with pytest.raises(CommandError, match="2 documents are out of step"):
        run("--check")
    assert found("gull") == []
    run()
    assert (found("gull"), found("tern")) == (["Page"], ["Bulk"])
    run("--check")


@pytest.fixture
def docs(tmp_path):
    (tmp_path / "old.md").write_text("# Old\n\nA heron.")
    os.utime(tmp_path / "old.md", (1, 1))
    (tmp_path / "new.md").write_text("# New\n\nA heron.")
    yield register_source(PublicDirectorySource(path=tmp_path, name="docs"))
    unregister("docs")


def test_since_looks_only_at_what_has_changed(docs):
    assert "docs: 1 added" in run("--source", "docs", "--since", "1d")
    assert found() == ["New"]
    assert "docs: 1 added, 0 changed, 1 unchanged" in run("--source", "docs")
    (docs.path / "old.md").unlink()
    run("--source", "docs", "--since", "1d")
    assert get_index().stats().documents == 2  # what it did not look at stays


def test_since_by_a_field_of_the_model(people):
    User.objects.create(username="ada")
    source = get_source("auth.user")
    with pytest.raises(ConfigurationError, match="changed_field"):
        index_source(source, since=timezone.now())
    type(source).changed_field = "date_joined"
    long_ago = timezone.now() - datetime.timedelta(days=1)
    assert index_source(source, since=long_ago).unchanged == 1
    assert index_source(source, since=timezone.now()).unchanged == 0


@pytest.mark.parametrize(
    ("written", "ago"), [("45m", {"minutes": 45}), ("12h", {"hours": 12}), ("3d", {"days": 3})]
)
def test_a_moment_may_be_how_long_ago(written, ago):
    difference = timezone.now() - _moment(written) - datetime.timedelta(**ago)
    assert abs(difference) < datetime.timedelta(seconds=5)


def test_a_moment_may_be_a_date_and_nothing_else():
    assert _moment("2026-11-30") == datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC)
    for wrong in ("yesterday", "", "3w", "2026-13-01", "99999999999d"):
        with pytest.raises(argparse.ArgumentTypeError, match="2026-11-30"):
            _moment(wrong)


def test_rebuild_and_since_do_not_go_together():
    with pytest.raises(CommandError, match="do not go together"):
        run("--rebuild", "--since", "1d")


def test_other_fields_or_another_version_make_the_index_stale():
    Article.objects.create(title="Page", body="A heron.")
    source = get_source("site.article")
    assert is_stale("default") is None
    source.version = "2"
    try:
        assert "1 of 1 documents" in is_stale("default")
        assert "site.article" in is_stale("default")
        run()
        assert is_stale("default") is None
    finally:
        del source.version


def test_a_watched_folder_is_read_once_it_has_settled(docs):
    index_source(docs)
    watch = Watch([docs])
    assert watch.changed() == {}
    (docs.path / "new.md").write_text("# New\n\nA gull, half wri")
    assert watch.changed() == {}
    (docs.path / "new.md").write_text("# New\n\nA gull, written.")
    assert watch.changed() == {}
    (docs.path / "more.md").write_text("# More\n\nA tern.")
    assert watch.changed() == {"docs": ["new.md"]}
    (docs.path / "old.md").unlink()
    assert watch.changed() == {"docs": ["more.md"]}
    assert watch.changed() == {"docs": ["old.md"]}
    assert watch.changed() == {}


def test_watching_goes_on_while_a_folder_is_replaced_and_an_embedding_is_away(
    docs, settings, monkeypatch, capsys
):
    settings.AI_ANSWERS = settings_with_embedding()
    away = docs.path.with_name("away")
    looks = iter(
        [
            lambda: docs.path.rename(away),
            lambda: away.rename(docs.path),
            lambda: (docs.path / "new.md").write_text("# New\n\nA gull."),
            lambda: setattr(ConceptEmbedding, "is_down", True),
            None,
            None,
            lambda: setattr(ConceptEmbedding, "is_down", False),
            None,
        ]
    )

    def sleep(seconds):
        action = next(looks, KeyboardInterrupt)
        if action is KeyboardInterrupt:
            raise KeyboardInterrupt
        if action is not None:
            action()

    monkeypatch.setattr(ConceptEmbedding, "is_down", False)  # put back at the end
    monkeypatch.setattr(ai_answers_index.time, "sleep", sleep)
    call_command("ai_answers_index", source=["docs"], watch=True)
    assert "Trying again" in capsys.readouterr().err
    assert "New" in found("gull")


def test_saved_objects_go_to_the_task_backend_where_one_is_named(settings):
    pytest.importorskip("django_tasks")
    try:
        import django.tasks  # noqa: F401

        backend = "django.tasks.backends.dummy.DummyBackend"
    except ImportError:
        backend = "django_tasks.backends.dummy.DummyBackend"
    settings.TASKS = {"default": {"BACKEND": backend}}
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "INDEXING_TASKS": "default"}
    from ai_answers.indexing.tasks import index_changed

    with transaction.atomic():
        pages = [Article.objects.create(title=f"Page {n}", body="A heron.") for n in range(3)]
    assert found() == []
    waiting = index_changed.get_backend().results
    [result] = waiting
    assert result.args == ["site.article", [str(page.pk) for page in pages]]
    index_changed.func(*result.args)
    assert len(found()) == 3


class Searches:
    """A thread that searches all the time and keeps what it was given."""

    def __init__(self, query):
        self.query, self.results, self.errors, self.stopped = query, [], [], False
        self.thread = threading.Thread(target=self._work)

    def _work(self):
        try:
            while not self.stopped:
                hits = get_index().search(self.query, tags=frozenset(), limit=5)
                self.results.append([hit.chunk.title for hit in hits])
        except Exception as error:  # reported by the assertion
            self.errors.append(error)
        finally:
            connections.close_all()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        time.sleep(0.1)
        self.stopped = True
        self.thread.join()


def test_searches_find_everything_while_the_index_is_rebuilt():
    for number in range(40):
        Article.objects.create(title=f"Page {number}", body=f"Filler {number}.")
    Article.objects.create(title="Birds", body="A heron.")
    with Searches("heron") as searches:
        run("--rebuild")
    assert searches.errors == []
    assert searches.results and all(titles == ["Birds"] for titles in searches.results)


def test_one_embedding_serves_until_the_next_is_complete(settings):
    settings.AI_ANSWERS = settings_with_embedding()
    for number in range(40):
        Article.objects.create(title=f"Page {number}", body=f"Filler {number}.")
    Article.objects.create(title="Lounge", body="Coffee for members.")
    assert wait_until_complete(timeout_seconds=20)
    run()
    changed = settings_with_embedding()
    changed["EMBEDDINGS"]["newer"] = {
        "BACKEND": "tests.retrieval.embedding.ConceptEmbedding",
        "OPTIONS": {"model": "newer"},
    }
    changed["INDEXES"]["default"]["EMBEDDING"] = "newer"
    settings.AI_ANSWERS = changed
    with Searches("espresso") as searches:
        run()
    assert searches.errors == []
    assert searches.results and all(titles[:1] == ["Lounge"] for titles in searches.results)
    tables = get_index().tables()
    assert tables.state().embedding == embedding_identity("newer")
    assert tables.vectors.count(embedding_identity("concepts")) == 0


SITE = """
import os, sys, django
from django.conf import settings
sys.path.insert(0, {root!r})
settings.configure(
    SECRET_KEY="x", USE_TZ=True, DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "ai_answers"],
    DATABASES={{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": {file!r},
        "OPTIONS": {{"transaction_mode": "IMMEDIATE", "timeout": 30,
                     "init_command": "PRAGMA journal_mode=WAL"}}}}}})
django.setup()
from django.core.management import call_command
from ai_answers.sources import PublicSource, register_source
class Many(PublicSource):
    name = "many"
    def get_ids(self): return [str(n) for n in range(400)]
    def get_objects(self, ids): return {{i: i for i in ids}}
    def get_id(self, obj): return obj
    def get_title(self, obj, language): return "Page " + obj
    def get_url(self, obj, language): return ""
    def get_content(self, obj, language): return "heron " * 40 + obj
register_source(Many())
from ai_answers.retrieval import get_index
"""


def site(tmp_path, code):
    start = SITE.format(root=str(ROOT), file=str(tmp_path / "site.sqlite3"))
    return subprocess.Popen(
        [sys.executable, "-c", start + code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


INDEX = "call_command('ai_answers_index', verbosity=1)"


def test_a_killed_run_has_kept_what_it_wrote_and_the_next_goes_on(tmp_path):
    ended(site(tmp_path, "call_command('migrate', verbosity=0)"))
    slow = "\nimport time\nMany.get_title = lambda s, o, l: time.sleep(0.004) or 'Page ' + o\n"
    process = site(tmp_path, slow + INDEX)
    with closing(sqlite3.connect(tmp_path / "site.sqlite3", timeout=30)) as database:

        def written():
            rows = database.execute("SELECT count(*) FROM ai_answers_indexeddocument")
            return rows.fetchone()[0]

        deadline = time.monotonic() + 60
        while not written() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kept = written()
    assert 0 < kept < 400
    assert f"{400 - kept} added, 0 changed, {kept} unchanged" in ended(site(tmp_path, INDEX))


def test_two_runs_at_once_end_with_the_right_index(tmp_path):
    ended(site(tmp_path, "call_command('migrate', verbosity=0)"))
    both = [site(tmp_path, INDEX), site(tmp_path, INDEX)]
    for process in both:
        ended(process)
    check = "s = get_index().stats(); print(s.documents, s.chunks, len(get_index().search("
    check += "'heron', tags=frozenset(), limit=1000)))"
    assert ended(site(tmp_path, check)).split() == ["400", "400", "400"]
