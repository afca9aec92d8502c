"""An index that somebody else fills, shown with the words of a real search engine."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from ai_answers.exceptions import ConfigurationError, RetrievalError
from ai_answers.indexing import index_source, indexes_of
from ai_answers.retrieval import get_index, search
from ai_answers.sources import get_source
from tests.site.models import Article

from .. import stores
from .test_searching import ANYONE, MEMBER

pytestmark = pytest.mark.django_db

MINE = "tests.retrieval.test_retriever"


class OpenSearchWords(BaseRetriever):
    """BM25 of an OpenSearch index, by its own client."""

    port: int
    k: int = 4

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        body = {"query": {"multi_match": {"query": query, "fields": ["title^3", "body"]}}}
        found = client(self.port).search(index="pages", body=body, params={"size": self.k})
        return [
            Document(
                page_content=hit["_source"]["body"],
                metadata={"kind": "site.article", "entity_id": hit["_source"]["page"],
                          "title": hit["_source"]["title"], "score": hit["_score"],
                          "access_tags": hit["_source"]["tags"]},
            )
            for hit in found["hits"]["hits"]
        ]  # fmt: skip


class Broken(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        raise ConnectionError("secret host away")


class Fixed(BaseRetriever):
    """Returns what its document says, without score."""

    documents: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return self.documents


def client(port):
    from opensearchpy import OpenSearch

    return OpenSearch([{"host": "127.0.0.1", "port": port}], use_ssl=False)


def read_only(settings, backend, keys=None, **options):
    retriever = {"BACKEND": f"{MINE}.{backend}", "OPTIONS": options}
    given = {"retriever": retriever} | ({"keys": keys} if keys else {})
    entry = {"BACKEND": "ai_answers.retrieval.retriever.RetrieverIndex", "OPTIONS": given}
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "INDEXES": {"default": entry}}


@pytest.fixture(scope="module")
def port():
    if reason := stores.missing("opensearchpy", "osmem_server"):
        pytest.skip(f"search engine test: {reason}")
    return stores.running(stores.opensearch)


@pytest.mark.servers
def test_words_of_a_search_engine_find_pages_that_the_asker_may_read(settings, port):
    pages = [
        Article.objects.create(title="Birds", body="The heron stands in the reeds."),
        Article.objects.create(title="Rare birds", body="A heron nests.", audience="members"),
        Article.objects.create(title="Fees", body="A parcel costs four euros."),
        Article.objects.create(title="Gone", body="A heron that was deleted."),
    ]
    engine = client(port)
    engine.indices.delete(index="pages", ignore_unavailable=True)
    engine.indices.create(index="pages", body={"mappings": {"properties": {
        "title": {"type": "text"}, "body": {"type": "text"},
        "page": {"type": "keyword"}, "tags": {"type": "keyword"}}}})  # fmt: skip
    for page in pages:
        tags = [] if page.audience == "public" else [page.audience]
        body = {"title": page.title, "body": page.body, "page": str(page.pk), "tags": tags}
        engine.index(index="pages", id=str(page.pk), body=body)
    engine.indices.refresh(index="pages")
    pages[3].delete()
    read_only(settings, "OpenSearchWords", keys={"entity_type": "kind"}, port=port)

    hits = search("default", "heron", asker=ANYONE)
    assert [hit.chunk.title for hit in hits] == ["Birds"]
    assert hits[0].score_kind == "retriever" and hits[0].score > 0
    assert {hit.chunk.title for hit in search("default", "heron", asker=MEMBER)} == {
        "Birds", "Rare birds",
    }  # fmt: skip


def test_it_is_never_written_and_indexing_leaves_it_alone(settings):
    read_only(settings, "Fixed", documents=[])
    Article.objects.create(title="Saved", body="A receiver hears this and passes it by.")
    assert indexes_of(get_source("site.article")) == []
    with pytest.raises(ConfigurationError, match="filled by others"):
        get_index().put([])
    with pytest.raises(ConfigurationError, match="filled by others"):
        index_source(get_source("site.article"), rebuild=True)


def test_hits_without_score_keep_their_order_and_nameless_ones_are_dropped(settings):
    pages = [Article.objects.create(title=f"Page {n}", body="A heron.") for n in range(3)]
    documents = [
        Document(page_content="A heron.", metadata={"entity_type": "site.article",
                                                     "entity_id": page.pk, "title": page.title})
        for page in pages
    ]  # fmt: skip
    stray = Document(page_content="No object.", metadata={})
    read_only(settings, "Fixed", documents=[documents[2], stray, documents[0], documents[1]])
    hits = search("default", "heron", asker=ANYONE)
    assert [hit.chunk.title for hit in hits] == ["Page 2", "Page 0", "Page 1"]


def documents_of(pages, scores):
    return [
        Document(page_content="A heron.", metadata={"entity_type": "site.article",
                                                     "entity_id": page.pk, "score": score})
        for page, score in zip(pages, scores, strict=True)
    ]  # fmt: skip


@pytest.mark.parametrize("scores", [(0.1, 0.2, 0.3), (0.9, None, 0.1), (-1, -2, -3), ("x", 2, 1)])
def test_scores_that_do_not_fall_along_the_order_leave_the_order(settings, scores):
    """A distance rises, and some retrievers name a score for some documents only."""
    pages = [Article.objects.create(title=f"Page {n}", body="A heron.") for n in range(3)]
    read_only(settings, "Fixed", documents=documents_of(pages, scores))
    hits = search("default", "heron", asker=ANYONE)
    assert [hit.chunk.key.entity_id for hit in hits] == [str(page.pk) for page in pages]
    assert [hit.score for hit in hits] == [1, 1 / 2, 1 / 3]


class Counted(Fixed):
    """Says how many to return where a vector store's own retriever does."""

    search_kwargs: dict[str, Any] = {}

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return self.documents[: self.search_kwargs["k"]]


def test_the_number_wanted_goes_where_the_retriever_takes_it(settings):
    pages = [Article.objects.create(title=f"Page {n}", body="A heron.") for n in range(30)]
    read_only(settings, "Counted", documents=documents_of(pages, [1] * 30))
    settings.AI_ANSWERS["INDEXES"]["default"]["OPTIONS"]["limit_option"] = "search_kwargs.k"
    assert len(search("default", "heron", asker=ANYONE, amount=25)) == 25


class NotInstalled(BaseRetriever):
    def __init__(self, **options: Any) -> None:
        raise AssertionError("made without a search")


def test_saving_an_object_does_not_make_the_retriever(settings):
    """A vendor's package may take seconds to import."""
    read_only(settings, "NotInstalled")
    Article.objects.create(title="Saved", body="A receiver asks whether this index is ours.")
    assert indexes_of(get_source("site.article")) == []


def test_the_index_command_passes_it_by(settings, capsys):
    read_only(settings, "NotInstalled")
    call_command("ai_answers_index")
    assert "0 added" in capsys.readouterr().out


def test_a_failure_is_one_of_ours_and_names_the_index(settings):
    read_only(settings, "Broken")
    with pytest.raises(RetrievalError, match="'default'") as raised:
        search("default", "heron", asker=ANYONE)
    assert "secret" not in str(raised.value)


def test_wrong_options_say_what_would_be_right(settings):
    read_only(settings, "Fixed", keys={"entity": "x"}, documents=[])
    with pytest.raises(ConfigurationError, match="entity_type"):
        get_index()
