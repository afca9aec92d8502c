"""An index whose candidates come from somebody else's vector store."""

from __future__ import annotations

import uuid

import numpy as np
import pytest

from ai_answers.exceptions import ConfigurationError, RetrievalError
from ai_answers.models import IndexedVector
from ai_answers.retrieval.vector_store import VectorStoreIndex
from ai_answers.values import ObjectKey

from .. import stores
from ..contrib.test_pgvector import with_vectors
from .contract import IndexContract, found
from .embedding import settings_with_embedding

MEMORY = {"BACKEND": "langchain_core.vectorstores.InMemoryVectorStore"}


@pytest.fixture(scope="module")
def chroma_port():
    if reason := stores.missing("chromadb", "langchain_chroma"):
        pytest.skip(f"vector store test: {reason}")
    with stores.chroma() as port:
        yield port


def chroma_index(port):
    # A collection for each test: the server knows nothing of transactions.
    options = {"host": "127.0.0.1", "port": port,
               "collection_name": f"t{uuid.uuid4().hex[:8]}-{{embedding}}"}  # fmt: skip
    store = {"BACKEND": "langchain_chroma.Chroma", "OPTIONS": options}
    return VectorStoreIndex("default", embedding="concepts", store=store)


@pytest.mark.django_db
class TestInMemory(IndexContract):
    @pytest.fixture
    def index(self, embedding):
        return VectorStoreIndex("default", embedding="concepts", store=MEMORY)


@pytest.mark.servers
@pytest.mark.django_db
class TestChroma(IndexContract):
    @pytest.fixture
    def index(self, embedding, chroma_port):
        return chroma_index(chroma_port)


@pytest.fixture(params=["memory", pytest.param("chroma", marks=pytest.mark.servers)])
def index(request, db, embedding):
    if request.param == "memory":
        return VectorStoreIndex("default", embedding="concepts", store=MEMORY)
    return chroma_index(request.getfixturevalue("chroma_port"))


def in_store(index):
    store = index.stores.get(index.tables().state().embedding)
    if hasattr(store, "store"):
        return len(store.store)
    return len(store.get()["ids"])


def test_meaning_is_found_and_goes_with_its_document(index):
    index.put([with_vectors(1, "espresso and kaffee"), with_vectors(2, "burglar siren")])
    assert found(index, "lounge") == ["1"]
    index.remove([ObjectKey("page", "1")])
    assert found(index, "lounge") == []
    assert in_store(index) == 1


def test_a_changed_document_leaves_nothing_behind_in_the_store(index):
    index.put([with_vectors(1, "espresso|kaffee|lounge")])
    assert in_store(index) == 3
    index.put([with_vectors(1, "burglar siren")])
    assert in_store(index) == 1
    assert found(index, "alarm") == ["1"]


def test_cosines_are_exact_whatever_the_store_says(index):
    index.put([with_vectors(1, "coffee"), with_vectors(2, "a lorry")])
    [hit] = [h for h in index.search("coffee", tags=frozenset(), limit=5) if h.score > 0.5]
    assert hit.scores["cosine"] == pytest.approx(1, abs=1e-5)
    assert hit.score_kind == "fused"


def test_hits_that_are_closed_are_made_up_for_by_asking_for_more(index):
    index.put(
        [with_vectors(n, "coffee", tags=["staff"]) for n in range(60)]
        + [with_vectors(n, "coffee and a lorry") for n in range(60, 65)]
    )
    leg = index.tables().vectors
    identity = index.tables().state().embedding
    query = np.array([0, 0, 0, 1, 0, 0.1], np.float32)
    nearest = leg.nearest(query, embedding=identity, tags=frozenset(), limit=5, also=[])
    chunks = index.tables().chunks(list(nearest.cosines))
    assert {c.key.entity_id for c in chunks.values()} == {str(n) for n in range(60, 65)}


def test_what_else_the_store_holds_is_passed_over(index):
    index.put([with_vectors(1, "coffee")])
    blob = bytes(IndexedVector.objects.get().vector)
    index.stores.write(
        index.tables().state().embedding,
        [("page", "99", "en", "x", "y", 0)],
        ["a stranger"],
        np.frombuffer(blob, "<f4").reshape(1, -1),
        "other",
        tags=[""],
    )
    assert found(index, "espresso") == ["1"]


def test_a_store_that_was_lost_can_be_filled_again_without_embedding(index, embedding):
    index.put([with_vectors(1, "coffee"), with_vectors(2, "siren")])
    store = index.stores.get(index.tables().state().embedding)
    if hasattr(store, "store"):
        store.store.clear()
    else:
        store.delete(ids=store.get()["ids"])
    assert found(index, "espresso") == []
    embedding.calls.clear()
    assert index.fill() == 2
    assert found(index, "espresso") == ["1"]
    assert embedding.calls == []


def test_an_embedding_takes_over_without_a_gap(index, settings):
    index.put([with_vectors(1, "coffee"), with_vectors(2, "siren")])
    changed = settings_with_embedding()
    changed["EMBEDDINGS"]["newer"] = {
        "BACKEND": "tests.retrieval.embedding.ConceptEmbedding", "OPTIONS": {"model": "newer"},
    }  # fmt: skip
    settings.AI_ANSWERS = changed
    newer = VectorStoreIndex("default", embedding="newer", store=index.stores.settings)
    newer.stores = index.stores
    newer.put([with_vectors(1, "coffee", alias="newer")])
    assert found(newer, "espresso") == ["1"]
    newer.put([with_vectors(2, "siren", alias="newer")])
    newer.finish()
    assert found(newer, "espresso") == ["1"]
    assert in_store(newer) == 2


@pytest.mark.django_db
def test_a_store_that_is_down_leaves_the_words_and_a_warning(embedding, caplog):
    index = VectorStoreIndex("default", embedding="concepts", store=MEMORY)
    index.put([with_vectors(1, "coffee"), with_vectors(2, "siren")])
    index.stores._made = {"": None}  # as after the server went away: every call fails
    assert found(index, "coffee") == ["1"]
    assert "by words alone" in caplog.text
    with pytest.raises(RetrievalError, match="did not take"):
        index.put([with_vectors(3, "coffee")])
    assert index.stats().documents == 2


@pytest.mark.django_db
def test_without_full_text_vectors_carry_the_search_and_a_failure_is_said(embedding, monkeypatch):
    """As on MySQL, for which there is no leg for words."""
    index = VectorStoreIndex("default", embedding="concepts", store=MEMORY)
    monkeypatch.setattr(index, "make_words", lambda using: None)
    index.put([with_vectors(1, "coffee"), with_vectors(2, "siren")])
    assert found(index, "espresso") == ["1"]
    embedding.is_down = True
    with pytest.raises(RetrievalError):
        found(index, "espresso")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"embedding": None, "store": MEMORY}, "EMBEDDING"),
        ({"embedding": "concepts"}, "store"),
        ({"embedding": "concepts", "store": {"OPTIONS": {}}}, "BACKEND"),
    ],
)
def test_wrong_settings_say_what_would_be_right(arguments, words):
    with pytest.raises(ConfigurationError, match=words):
        VectorStoreIndex("default", **arguments)
