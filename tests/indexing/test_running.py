import pytest
from django.test import override_settings

from ai_answers.exceptions import EmbeddingFailed
from ai_answers.indexing import (
    Report,
    index_objects,
    index_source,
    indexes_of,
    is_stale,
    remove_objects,
)
from ai_answers.indexing.preparing import prepare, stored_as
from ai_answers.retrieval import get_index, index_settings
from ai_answers.signals import content_indexed
from ai_answers.sources import get_source, register_source, unregister
from ai_answers.values import Document, ObjectKey
from tests.site.ai_answers import ArticleSource
from tests.site.models import Article

pytestmark = pytest.mark.django_db


@pytest.fixture
def source():
    return get_source("site.article")


def counts(report):
    return report.added, report.changed, report.unchanged, report.removed


def make(number=3, **fields):
    return [
        Article.objects.create(**{"title": f"Page {n}", "body": f"Parcel {n}."} | fields)
        for n in range(number)
    ]


def found(query="parcel"):
    hits = get_index().search(query, tags=frozenset(), limit=50)
    return sorted({hit.chunk.title for hit in hits})


def test_a_second_run_does_nothing_and_a_third_only_what_changed(source):
    pages = make()
    assert counts(index_source(source)) == (3, 0, 0, 0)
    assert counts(index_source(source)) == (0, 0, 3, 0)

    Article.objects.filter(pk=pages[0].pk).update(body="Letter.")
    Article.objects.filter(pk=pages[1].pk).update(audience="members")
    Article.objects.filter(pk=pages[2].pk).delete()
    make(1)

    assert counts(index_source(source)) == (1, 2, 0, 1)
    assert found() == ["Page 0"]
    assert found("letter") == ["Page 0"]


def test_a_language_that_went_is_taken_out(source):
    [page] = make(1, body_de="Paket.", title_de="Seite")
    assert counts(index_source(source)) == (2, 0, 0, 0)
    Article.objects.filter(pk=page.pk).update(body_de="")
    assert counts(index_source(source)) == (0, 0, 1, 1)
    assert found("paket") == []


def test_a_rebuild_writes_everything_again_and_a_dry_run_nothing(source):
    make()
    report = index_source(source, dry_run=True)
    assert counts(report) == (3, 0, 0, 0)
    assert report.chunks == 3
    assert found() == []
    index_source(source)
    assert counts(index_source(source, rebuild=True)) == (0, 3, 0, 0)
    assert counts(index_source(source, rebuild=True, dry_run=True)) == (0, 3, 0, 0)
    Article.objects.all().delete()
    assert counts(index_source(source, dry_run=True)) == (0, 0, 0, 3)
    assert found() == ["Page 0", "Page 1", "Page 2"]


def test_only_changed_documents_are_embedded(source, embedding):
    pages = make()
    index_source(source)
    assert sum(embedding.calls) == 3
    index_source(source)
    assert sum(embedding.calls) == 3
    Article.objects.filter(pk=pages[0].pk).update(body="Letter.")
    index_source(source)
    assert sum(embedding.calls) == 4


def test_what_was_written_before_an_embedding_failed_stays_and_the_next_run_goes_on(
    source, embedding
):
    make(200)

    def fail_once_some_are_done(done, total):
        embedding.is_down = done >= 128

    with pytest.raises(EmbeddingFailed):
        index_source(source, progress=fail_once_some_are_done)
    assert get_index().stats().documents == 128
    embedding.is_down = False
    report = index_source(source)
    assert (report.unchanged, report.added) == (128, 72)
    assert get_index().stats().vectors == 200


def test_progress_counts_what_is_written_and_ends_with_all_of_it(source):
    make(150)
    told = []
    index_source(source, progress=lambda done, total: told.append((done, total)))
    assert told[0] == (128, 150)  # the first batch of chunks
    assert told[-1] == (150, 150)
    assert told == sorted(told)


def test_an_object_that_cannot_be_read_is_counted_and_does_not_stop_the_others(source, caplog):
    make()

    class Fragile(ArticleSource):
        name = "fragile"
        model = Article

        def get_content(self, obj, language):
            if obj.title == "Page 1":
                raise ValueError("broken body")
            return obj.body

    register_source(Fragile())
    try:
        report = index_source(get_source("fragile"))
    finally:
        get_index().clear("fragile")
        unregister("fragile")
    assert (report.added, report.failed) == (2, 1)
    assert "could not read" in caplog.text


def test_ids_that_a_join_repeats_are_indexed_once(source):
    ids = [str(page.pk) for page in make(150)]
    source.get_ids = lambda: [*ids, *ids]
    try:
        assert counts(index_source(source)) == (150, 0, 0, 0)
    finally:
        del source.get_ids


def test_single_objects_are_brought_in_step_or_taken_out(source):
    pages = make()
    index_objects(source, [pages[0].pk])
    assert found() == ["Page 0"]
    Article.objects.filter(pk=pages[0].pk).delete()
    assert index_objects(source, [str(pages[0].pk), "nonsense"]).removed == 1
    index_objects(source, [pages[1].pk, pages[2].pk])
    assert remove_objects(source, [pages[1].pk]) == 1
    assert found() == ["Page 2"]


def test_without_vectors_a_document_is_marked_and_the_next_run_completes_it(source, embedding):
    [page] = make(1)
    index_objects(source, [page.pk], vectors=False)
    assert embedding.calls == []
    assert found() == ["Page 0"]
    assert "1 of 1 documents" in is_stale("default")
    assert counts(index_source(source)) == (0, 1, 0, 0)
    assert is_stale("default") is None


def test_another_embedding_or_chunk_size_makes_the_index_stale(source, embedding, settings):
    from tests.retrieval.embedding import settings_with_embedding

    make()
    index_source(source)
    assert is_stale("default") is None

    settings.AI_ANSWERS = settings_with_embedding(model="other")
    assert "3 of 3 documents" in is_stale("default")
    assert counts(index_source(source)) == (0, 3, 0, 0)

    settings.AI_ANSWERS["INDEXES"]["default"]["CHUNK_TOKENS"] = 200
    assert "run ai_answers_index" in is_stale("default")
    assert counts(index_source(source)) == (0, 3, 0, 0)
    assert is_stale("default") is None


def test_a_key_or_an_address_of_an_embedding_is_no_part_of_its_identity(settings):
    from ai_answers.retrieval.embeddings import embedding_identity

    def identity(**options):
        settings.AI_ANSWERS = {"EMBEDDINGS": {"a": {"BACKEND": "x.Y", "OPTIONS": options}}}
        return embedding_identity("a")

    assert identity(model="m", api_key="1") == identity(model="m", api_key="2", base_url="/")
    assert identity(model="m") != identity(model="n")
    assert embedding_identity(None) == ""


def test_a_source_is_in_the_indexes_that_name_it_or_name_none(source):
    backend = {"BACKEND": "ai_answers.retrieval.database.DatabaseIndex"}
    indexes = {
        "default": backend,
        "other": backend | {"SOURCES": ["docs"]},
        "own": backend | {"SOURCES": ["site.article"]},
    }
    with override_settings(AI_ANSWERS={"INDEXES": indexes}):
        assert indexes_of(source) == ["default", "own"]


def test_a_run_tells_what_it_did(source):
    heard = []

    def listen(sender, index, report, **kwargs):
        heard.append((sender, index, report))

    make()
    content_indexed.connect(listen)
    try:
        report = index_source(source)
        index_source(source, dry_run=True)
    finally:
        content_indexed.disconnect(listen)
    assert heard == [(ArticleSource, "default", report)]
    assert isinstance(report, Report)
    assert str(report).startswith("3 added, 0 changed, 0 unchanged, 0 removed, 3 chunks, ")


def test_a_title_as_long_as_a_text_is_cut(source):
    """Each chunk carries it; that of a comment may be all it says."""
    document = Document(
        key=ObjectKey("site.article", "1"),
        language="en",
        title="word " * 500,
        url="",
        text="A\n\nB",
    )
    settings = index_settings("default")
    stored = stored_as(document, settings, source)
    made = prepare(document, stored, None, settings, source.get_anchors)
    assert len(made.document.title) == 300 and made.document.title.startswith("word word")
    assert {chunk.title for chunk in made.chunks} == {made.document.title}
