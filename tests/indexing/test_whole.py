"""All sources of an index at once."""

from __future__ import annotations

import pytest

from ai_answers.indexing import index_all
from ai_answers.models import IndexedDocument
from ai_answers.retrieval import get_index
from ai_answers.sources import get_source
from tests.site.models import Article

pytestmark = pytest.mark.django_db


@pytest.fixture
def articles():
    pages = [Article(title=f"Page {n}", body=f"The heron of gate {n}.") for n in range(3)]
    return Article.objects.bulk_create(pages)


@pytest.fixture
def gone():
    """A document of a source that nobody registers any more."""
    IndexedDocument.objects.create(index="default", entity_type="gone.model", entity_id="1")


def test_every_source_is_told_of_and_what_has_none_goes(articles, gone):
    seen, ended = [], {}
    report = index_all(
        progress=lambda *said: seen.append(said),
        on_source=lambda name, part: ended.update({name: part}),
    )
    assert (report.added, report.removed) == (3, 1)
    assert seen[0] == ("site.article", 0, 0) and ("site.article", 3, 3) in seen
    assert ended["site.article"].added == 3 and ended["gone.model"].removed == 1
    assert get_index().entity_types() == {"site.article"}


def test_a_dry_run_writes_nothing(articles, gone):
    report = index_all(dry_run=True)
    assert (report.added, report.removed) == (3, 1)
    assert get_index().entity_types() == {"gone.model"}


def test_what_a_callback_raises_ends_it(articles):
    def stop(name, done, total):
        if done:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        index_all(progress=stop)


class Flat:
    """Any text has the same vector."""

    def embed_documents(self, texts):
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text):
        return [1.0, 0.0]


def test_the_old_embedding_goes_only_when_every_object_was_read(articles, settings, monkeypatch):
    def serve(alias):
        entry = {"BACKEND": "ai_answers.retrieval.database.DatabaseIndex", "EMBEDDING": alias}
        backend = {"BACKEND": f"{__name__}.Flat"}
        settings.AI_ANSWERS = {
            **settings.AI_ANSWERS,
            "EMBEDDINGS": {"old": backend, "new": backend},
            "INDEXES": {"default": entry},
        }

    def kept():
        documents = IndexedDocument.objects.filter(chunks__vectors__isnull=False)
        return set(documents.values_list("chunks__vectors__embedding", flat=True))

    serve("old")
    index_all()
    serve("new")
    source = get_source("site.article")
    failed = []
    with monkeypatch.context() as patched:
        patched.setattr(source, "get_url", lambda obj, language: 1 / (obj.pk - articles[0].pk))
        index_all(on_failure=lambda *said: failed.append(said[:2]))
    assert failed == [("site.article", str(articles[0].pk))]
    assert len(kept()) == 2
    index_all()
    assert len(kept()) == 1
