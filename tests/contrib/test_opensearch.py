"""The leg for words that asks an OpenSearch server, shown with its own client and a server."""

from __future__ import annotations

import re
import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from ai_answers.contrib.opensearch import server as opensearch_server
from ai_answers.exceptions import ConfigurationError, RetrievalError
from ai_answers.models import IndexLeftover
from ai_answers.retrieval.database import WORDS_LEGS, DatabaseIndex
from ai_answers.retrieval.vector_store import VectorStoreIndex

from .. import stores
from ..retrieval.conftest import embedding  # noqa: F401 - a fixture
from ..retrieval.contract import IndexContract, entry, found, key
from .test_pgvector import with_vectors

pytestmark = pytest.mark.servers

LEG = "ai_answers.contrib.opensearch.OpenSearchWords"
MEMORY = {"BACKEND": "langchain_core.vectorstores.InMemoryVectorStore"}
TEXTS = [
    "The heron stands in the reeds. A heron waits for hours.",
    "Gulls and terns share the harbour with one heron.",
    "A lorry brings parcels to the harbour on Fridays|Parcels are weighed there.",
    "Parcels for members are kept for a week.",
    *(f"Filler number {n} about nothing." for n in range(12)),
]


@pytest.fixture(scope="module")
def port():
    if reason := stores.missing("opensearchpy", "osmem_server"):
        pytest.skip(f"search engine test: {reason}")
    return stores.running(stores.opensearch)


@pytest.fixture(autouse=True)
def rested():
    yield
    opensearch_server.resting.forget()


def words(port, **options):
    given = {"hosts": [f"http://127.0.0.1:{port}"], "index": f"t{uuid.uuid4().hex[:8]}"}
    return {"BACKEND": LEG, "OPTIONS": given | options}


def in_server(index):
    leg = index.tables().words
    leg.server.client.indices.refresh(index=leg.server.name("default"))
    return leg.server.total("default")


def silence(index):
    """Point the index to a port where nobody is."""
    options = {**index.words["OPTIONS"], "hosts": [f"http://127.0.0.1:{stores.free_port()}"]}
    index.words = {**index.words, "OPTIONS": options}
    index._tables_by_database.clear()


@pytest.mark.django_db
class TestWordsAlone(IndexContract):
    @pytest.fixture
    def index(self, port):
        return DatabaseIndex("default", words=words(port))


@pytest.mark.django_db
class TestWithVectors(IndexContract):
    @pytest.fixture
    def index(self, port, embedding):  # noqa: F811
        return DatabaseIndex("default", embedding="concepts", words=words(port))


@pytest.mark.django_db
class TestWithAStore(IndexContract):
    @pytest.fixture
    def index(self, port, embedding):  # noqa: F811
        return VectorStoreIndex("default", embedding="concepts", words=words(port), store=MEMORY)


@pytest.fixture
def index(transactional_db, port):
    return DatabaseIndex("default", words=words(port))


def place(hit):
    return hit.chunk.key.entity_id, hit.chunk.position, hit.score_kind


@pytest.mark.parametrize("query", ["heron harbour", "parcels on friday", "hernon", "Lorry"])
def test_scores_are_those_of_the_databases_own_full_text(index, query):
    """So fusion and a lowest score mean the same, whatever the server makes of its ranking."""
    entries = [entry(n, text, title="Birds" if n == 1 else "") for n, text in enumerate(TEXTS)]
    own = DatabaseIndex("other")
    own.clear()  # also what other tests have left in the table for full text
    own.put(entries)
    index.put(entries)
    there, here = (of.search(query, tags=frozenset(), limit=10) for of in (own, index))
    assert [place(hit) for hit in here] == [place(hit) for hit in there] != []
    assert [hit.score for hit in here] == pytest.approx([hit.score for hit in there], rel=1e-4)


def test_a_word_of_the_title_counts_more_than_one_of_the_text(index):
    fillers = [entry(n, f"filler number {n}") for n in range(10, 20)]
    index.put([entry(1, "a gull and a heron"), entry(2, "a gull waits", title="Heron"), *fillers])
    assert found(index, "heron") == ["2", "1"]


def test_what_goes_is_gone_there_too(index):
    index.put([entry(1, "heron|heron again|and again"), entry(2, "gull")])
    assert in_server(index) == 4
    index.put([entry(1, "tern", checksum="d")])
    assert in_server(index) == 2
    index.remove([key(2)])
    assert in_server(index) == 1
    index.clear()
    assert in_server(index) == 0
    assert not IndexLeftover.objects.exists()


def test_what_the_server_holds_beside_the_rows_is_never_a_hit(index):
    index.put([entry(1, "heron"), entry(2, "gull")])
    index.tables().words.send("default", [entry(9, "heron heron"), entry(1, "heron", checksum="x")])
    assert found(index, "heron") == ["1"]


def test_the_database_says_who_may_read_even_if_the_server_says_otherwise(index):
    index.put([entry(1, "heron", tags=["staff"]), entry(2, "gull")])
    index.tables().words.send("default", [entry(1, "heron")])
    assert found(index, "heron") == []
    assert found(index, "heron", tags=["staff"]) == ["1"]


def test_a_server_that_is_down_leaves_the_vectors_and_a_warning(
    transactional_db,
    embedding,  # noqa: F811
    port,
    caplog,
):
    index = DatabaseIndex("default", embedding="concepts", words=words(port))
    index.put([with_vectors(1, "coffee"), with_vectors(2, "siren")])
    silence(index)
    hits = index.search("espresso", tags=frozenset(), limit=1)
    assert [hit.chunk.key.entity_id for hit in hits] == ["1"]
    assert hits[0].score_kind == "vectors"
    assert "by vectors alone" in caplog.text and "espresso" not in caplog.text


def test_without_vectors_a_server_that_is_down_is_an_error(index):
    index.put([entry(1, "heron")])
    silence(index)
    with pytest.raises(RetrievalError, match="did not"):
        found(index, "heron")
    with pytest.raises(RetrievalError, match="did not take"):
        index.put([entry(1, "gull", checksum="d")])
    assert index.stored("page")[("1", "en")].checksum == "c"


def test_a_server_that_lost_everything_says_so_and_is_filled_again(index):
    index.put([entry(1, "heron", title="Birds", tags=["staff"]), entry(2, "gull|heron")])
    leg = index.tables().words
    leg.server.client.indices.delete(index=leg.server.name("default"))
    with pytest.raises(RetrievalError, match=r"get_index\('default'\)\.fill\(\)"):
        found(index, "heron")
    assert index.fill() == 3
    assert found(index, "heron") == ["2"]
    assert found(index, "birds", tags=["staff"]) == ["1"]


def test_what_was_left_there_goes_with_the_next_full_run(index):
    index.put([entry(1, "heron"), entry(2, "gull")])
    there = index.words
    silence(index)
    index.remove([key(1)])
    index.words = there
    index._tables_by_database.clear()
    assert in_server(index) == 2
    IndexLeftover.objects.update(noted_at=timezone.now() - timedelta(hours=1))
    index.finish()
    assert in_server(index) == 1


@pytest.mark.parametrize(
    ("alias", "named"),
    [
        ("default", r"ai-answers-default-1"),
        ("Museum_DE", r"ai-answers-museum-de-[0-9a-f]{8}-1"),
        ("日本", r"ai-answers-[0-9a-f]{8}-1"),
    ],
)
def test_any_alias_gives_a_name_the_server_takes(port, alias, named):
    server = opensearch_server.Server(
        prefix="ai-answers", refresh=True, index_settings={},
        options={"hosts": [f"http://127.0.0.1:{port}"]},
    )  # fmt: skip
    name = server.name(alias)
    assert re.fullmatch(named, name)
    server.put(alias, [("1", {"words": "heron", "length": 1, "tags": [], "place": {}})])
    assert server.total(alias) == 1
    assert server.client.indices.get_mapping(index=name)[name]["mappings"]["dynamic"] == "false"


@pytest.mark.django_db
def test_a_database_without_full_text_of_ours_needs_nothing_else(port, embedding, monkeypatch):  # noqa: F811
    """As on MySQL and MariaDB."""
    monkeypatch.delitem(WORDS_LEGS, connection.vendor)
    with pytest.raises(ConfigurationError, match=connection.vendor):
        DatabaseIndex("default").stats()
    index = DatabaseIndex("default", embedding="concepts", words=words(port))
    index.put([with_vectors(1, "coffee"), with_vectors(2, "siren")])
    assert found(index, "espresso", limit=1) == ["1"]


@pytest.mark.parametrize("given", [{"OPTIONS": {}}, "opensearch"])
def test_wrong_settings_say_what_would_be_right(given):
    with pytest.raises(ConfigurationError, match="BACKEND"):
        DatabaseIndex("default", words=given)
