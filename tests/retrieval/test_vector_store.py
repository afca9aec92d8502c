"""An index whose candidates come from somebody else's vector store."""

from __future__ import annotations

import threading
import time
import uuid
from datetime import timedelta
from functools import partial

import numpy as np
import pytest
from django.db import connection, transaction
from django.utils import timezone
from langchain_core.vectorstores import InMemoryVectorStore

from ai_answers.exceptions import ConfigurationError, RetrievalError
from ai_answers.models import IndexLeftover
from ai_answers.retrieval import stores as stores_module
from ai_answers.retrieval.handed import handing
from ai_answers.retrieval.settling import sent_before
from ai_answers.retrieval.stores import resting
from ai_answers.retrieval.tables import Tables
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
    return stores.running(stores.chroma)


def chroma_index(port, **more):
    # A collection for each test: the server knows nothing of transactions.
    options = {"host": "127.0.0.1", "port": port,
               "collection_name": f"t{uuid.uuid4().hex[:8]}-{{embedding}}"}  # fmt: skip
    store = {"BACKEND": "langchain_chroma.Chroma", "OPTIONS": options}
    return VectorStoreIndex("default", embedding="concepts", store=store, **more)


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
def index(request, transactional_db, embedding):
    """Transactions that end: what is withdrawn from a store, is so on commit."""
    if request.param == "memory":
        return VectorStoreIndex("default", embedding="concepts", store=MEMORY)
    return chroma_index(request.getfixturevalue("chroma_port"))


def in_store(index, embedding=None):
    store = index.stores.get(embedding or index.tables().state().embedding)
    if hasattr(store, "store"):
        return len(store.store)
    return len(store.get()["ids"])


class Unsteady(InMemoryVectorStore):
    """A store on a server that is away now and then."""

    is_down = False
    searches = 0

    def add_documents(self, *args, **kwargs):
        self._reach()
        return super().add_documents(*args, **kwargs)

    def delete(self, *args, **kwargs):
        self._reach()
        return super().delete(*args, **kwargs)

    def similarity_search(self, *args, **kwargs):
        Unsteady.searches += 1
        self._reach()
        return super().similarity_search(*args, **kwargs)

    def _reach(self):
        if Unsteady.is_down:
            raise OSError("secret host away")


@pytest.fixture
def unsteady(transactional_db, embedding):
    Unsteady.searches = 0
    store = {"BACKEND": f"{__name__}.Unsteady"}
    yield VectorStoreIndex("default", embedding="concepts", store=store)
    Unsteady.is_down = False
    resting.forget()


def make_old():
    IndexLeftover.objects.update(noted_at=timezone.now() - timedelta(hours=1))


def test_meaning_is_found_and_goes_with_its_document(index):
    index.put([with_vectors(1, "espresso and kaffee"), with_vectors(2, "burglar siren")])
    assert found(index, "lounge") == ["1"]
    index.remove([ObjectKey("page", "1")])
    assert "1" not in found(index, "lounge")
    assert in_store(index) == 1


def test_a_changed_document_leaves_nothing_behind_in_the_store(index):
    index.put([with_vectors(1, "espresso|kaffee|lounge")])
    assert in_store(index) == 3
    index.put([with_vectors(1, "burglar siren", checksum="d")])
    assert in_store(index) == 1
    assert found(index, "alarm") == ["1"]
    assert not IndexLeftover.objects.exists()


def test_clearing_empties_the_store(index):
    index.put([with_vectors(1, "espresso"), with_vectors(2, "burglar siren|alarm")])
    embedding = index.tables().state().embedding
    index.clear()
    assert in_store(index, embedding) == 0
    assert not IndexLeftover.objects.exists()


def test_cosines_are_exact_whatever_the_store_says(index):
    index.put([with_vectors(1, "coffee"), with_vectors(2, "a lorry")])
    [hit] = [h for h in index.search("coffee", tags=frozenset(), limit=5) if h.score > 0.5]
    assert hit.scores["cosine"] == pytest.approx(1, abs=1e-5)
    assert hit.score_kind == "fused"


def closed_and_open():
    return [with_vectors(n, "coffee", tags=["staff"]) for n in range(60)] + [
        with_vectors(n, "coffee and a lorry", tags=["members"]) for n in range(60, 65)
    ]


def nearest_to_coffee(index):
    identity = index.tables().state().embedding
    query = np.array([0, 0, 0, 1, 0, 0.1], np.float32)
    nearest = index.tables().vectors.nearest(
        query, embedding=identity, tags=frozenset({"members"}), limit=5, also=[]
    )
    chunks = index.tables().chunks(list(nearest.cosines))
    return {chunk.key.entity_id for chunk in chunks.values()}


def test_hits_that_are_closed_are_made_up_for_by_asking_for_more(index):
    index.put(closed_and_open())
    assert nearest_to_coffee(index) == {str(n) for n in range(60, 65)}


def of_unsteady(tags):
    """The filter of a store that calls it so: a test of metadata."""
    return {"filter": lambda document: set(document.metadata["tags"].split()) & tags}


def test_a_store_that_can_filter_by_tags_is_asked_once(unsteady):
    index = VectorStoreIndex(
        "default",
        embedding="concepts",
        store=unsteady.stores.settings,
        filter=f"{__name__}.of_unsteady",
    )
    index.put(closed_and_open())
    assert nearest_to_coffee(index) == {str(n) for n in range(60, 65)}
    assert Unsteady.searches == 1


def of_chroma(tags):
    return {"filter": {"tags": {"$in": ["", *tags]}}}


@pytest.mark.servers
def test_chroma_filters_by_tags_as_the_docs_say(transactional_db, embedding, chroma_port):
    index = chroma_index(chroma_port, filter=f"{__name__}.of_chroma")
    index.put([*closed_and_open(), with_vectors(99, "coffee and a lorry")])
    identity = index.tables().state().embedding
    query = [0, 0, 0, 1, 0, 0.1]
    named = index.stores.search(identity, query, limit=6, **of_chroma({"members"}))
    assert {metadata["tags"] for metadata in named} == {"", "members"}


def test_what_else_the_store_holds_is_passed_over(index):
    index.put([with_vectors(1, "coffee")])
    index.stores.send("other", [with_vectors(99, "coffee", checksum="x")])
    store = index.stores.get(index.tables().state().embedding)
    with handing(["not ours"], [[0, 0, 0, 1, 0, 0.1]]):
        store.add_texts(["not ours"], metadatas=[{"who": "somebody"}], ids=["stranger"])
    assert found(index, "espresso") == ["1"]


def test_a_store_that_was_lost_can_be_filled_again_without_embedding(index, embedding):
    index.put([with_vectors(1, "coffee", tags=["members"]), with_vectors(2, "siren")])
    store = index.stores.get(index.tables().state().embedding)
    if hasattr(store, "store"):
        store.store.clear()
    else:
        store.delete(ids=store.get()["ids"])
    assert found(index, "espresso", tags=["members"]) == []
    embedding.calls.clear()
    assert index.fill() == 2
    assert found(index, "espresso", tags=["members"]) == ["1"]
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
    assert not IndexLeftover.objects.exists()


def test_a_store_that_is_down_leaves_the_words_and_a_warning(unsteady, caplog):
    unsteady.put([with_vectors(1, "coffee"), with_vectors(2, "siren")])
    Unsteady.is_down = True
    assert found(unsteady, "coffee") == ["1"]
    assert "by words alone" in caplog.text and "secret" not in caplog.text
    asked = Unsteady.searches
    assert found(unsteady, "coffee") == ["1"]
    assert Unsteady.searches == asked  # left alone for some seconds


def test_a_store_that_takes_nothing_loses_nothing(unsteady):
    unsteady.put([with_vectors(1, "coffee")])
    Unsteady.is_down = True
    with pytest.raises(RetrievalError, match="did not take 1 chunks") as raised:
        unsteady.put([with_vectors(1, "siren", checksum="d")])
    assert "secret" not in str(raised.value)
    Unsteady.is_down = False
    assert found(unsteady, "espresso") == ["1"]
    unsteady.put([with_vectors(1, "siren", checksum="d")])
    assert found(unsteady, "alarm") == ["1"]


def test_what_could_not_be_withdrawn_goes_with_the_next_full_run(unsteady):
    unsteady.put([with_vectors(1, "coffee|espresso"), with_vectors(2, "siren")])
    Unsteady.is_down = True
    unsteady.remove([ObjectKey("page", "1")])
    Unsteady.is_down = False
    assert "1" not in found(unsteady, "lounge")
    assert in_store(unsteady) == 3
    unsteady.finish()
    assert in_store(unsteady) == 3  # others may be writing right now
    make_old()
    unsteady.finish()
    assert in_store(unsteady) == 1
    assert not IndexLeftover.objects.exists()


class Died(BaseException):
    """As a process does that is killed."""


class Fragile(Tables):
    def put(self, entries):
        raise Died


def test_a_crash_between_store_and_database_leaves_nothing_for_ever(unsteady):
    unsteady.put([with_vectors(1, "coffee")])
    tables = unsteady.tables()
    unsteady._tables_by_database[tables.using] = Fragile(
        "default", tables.using, words=tables.words, vectors=tables.vectors
    )
    with pytest.raises(Died):
        unsteady.put([with_vectors(1, "siren", checksum="d")])
    unsteady._tables_by_database[tables.using] = tables
    assert in_store(unsteady) == 2
    [hit] = unsteady.search("espresso alarm", tags=frozenset(), limit=5)
    assert hit.chunk.text == "coffee"
    make_old()
    unsteady.finish()
    assert in_store(unsteady) == 1
    assert found(unsteady, "espresso") == ["1"]


def test_what_was_noted_and_is_wanted_again_stays(unsteady):
    """The store was down when it should have gone; then the page got its old text back."""
    unsteady.put([with_vectors(1, "coffee")])
    Unsteady.is_down = True
    unsteady.remove([ObjectKey("page", "1")])
    Unsteady.is_down = False
    make_old()
    unsteady.put([with_vectors(1, "coffee")])
    unsteady.finish()
    assert found(unsteady, "espresso") == ["1"]
    assert in_store(unsteady) == 1


def test_a_rolled_back_transaction_withdraws_nothing(unsteady):
    unsteady.put([with_vectors(1, "coffee")])
    with transaction.atomic():
        unsteady.remove([ObjectKey("page", "1")])
        assert in_store(unsteady) == 1
        transaction.set_rollback(True)
    assert found(unsteady, "espresso") == ["1"]
    assert not IndexLeftover.objects.exists()


class Wordless(VectorStoreIndex):
    def default_words(self, using):
        return None


@pytest.mark.django_db
def test_without_full_text_vectors_carry_the_search_and_a_failure_is_said(embedding):
    """As on MySQL, for which there is no leg for words."""
    index = Wordless("default", embedding="concepts", store=MEMORY)
    index.put([with_vectors(1, "coffee"), with_vectors(2, "siren")])
    assert found(index, "espresso") == ["1"]
    embedding.is_down = True
    with pytest.raises(RetrievalError):
        found(index, "espresso")


@pytest.mark.django_db
def test_a_database_that_does_not_return_keys_gets_the_same_rows(embedding, monkeypatch):
    """As MySQL, which tells nothing about rows that were written at once."""
    features = type(connection.features)
    monkeypatch.setattr(features, "can_return_rows_from_bulk_insert", False)
    index = VectorStoreIndex("default", embedding="concepts", store=MEMORY)
    index.put(
        [with_vectors(1, "coffee|espresso", tags=["staff"]), with_vectors(2, "siren|burglar")]
    )
    hits = index.search("lounge", tags=frozenset({"staff"}), limit=5)
    assert sorted(hit.chunk.position for hit in hits) == [0, 1]
    assert {hit.chunk.key.entity_id for hit in hits} == {"1"}
    assert found(index, "lounge") == []


class Probing(InMemoryVectorStore):
    """Tries its embedding out, as stores do that want to know how long vectors are."""

    def __init__(self, embeddings):
        assert len(embeddings.embed_query("dummy")) == 6
        super().__init__(embeddings)

    def add_documents(self, documents, ids=None, **kwargs):
        assert len(self.embedding.embed_documents(["dummy", "probe"])) == 2
        order = list(range(len(documents)))[::-1]
        return super().add_documents(
            [documents[n] for n in order], ids=[ids[n] for n in order], **kwargs
        )


@pytest.mark.django_db
def test_a_store_may_try_its_embedding_and_write_in_an_order_of_its_own(embedding):
    store = {"BACKEND": f"{__name__}.Probing"}
    index = VectorStoreIndex("default", embedding="concepts", store=store)
    index.put([with_vectors(1, "coffee"), with_vectors(2, "siren"), with_vectors(3, "parcel")])
    assert found(index, "espresso", limit=1) == ["1"]
    assert found(index, "package", limit=1) == ["3"]


def slow(embedding):
    store = InMemoryVectorStore(embedding)
    store.similarity_search = lambda *args, **kwargs: time.sleep(3)
    return store


@pytest.mark.django_db
def test_a_store_that_hangs_is_given_up(embedding, monkeypatch):
    monkeypatch.setattr(stores_module, "SEARCH_SECONDS", 0.2)
    index = VectorStoreIndex("default", embedding="concepts", store={"BACKEND": f"{__name__}.slow"})
    index.put([with_vectors(1, "coffee")])
    started = time.monotonic()
    assert found(index, "coffee") == ["1"]
    assert time.monotonic() - started < 2
    resting.forget()


@pytest.mark.parametrize(
    ("store", "words"),
    [
        ({"BACKEND": "not_installed.Store"}, "not_installed"),
        (MEMORY | {"OPTIONS": {"collection": "x"}}, "collection"),
    ],
)
@pytest.mark.django_db
def test_a_store_that_cannot_be_made_is_named(embedding, store, words):
    index = VectorStoreIndex("default", embedding="concepts", store=store)
    with pytest.raises(ConfigurationError, match=words):
        index.put([with_vectors(1, "coffee")])


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


def test_an_index_whose_documents_are_all_gone_finds_nothing(index):
    index.put([with_vectors(1, "espresso")])
    index.remove([ObjectKey("page", "1")])
    assert found(index, "lounge") == []
    fresh = VectorStoreIndex("default", embedding="concepts", store=MEMORY)
    assert found(fresh, "lounge") == []


class Interrupted(InMemoryVectorStore):
    """A store in front of whose deletions other processes may come."""

    before_delete = None

    def delete(self, *args, **kwargs):
        hook, Interrupted.before_delete = Interrupted.before_delete, None
        if hook is not None:
            hook()
        return super().delete(*args, **kwargs)


@pytest.fixture
def interrupted(transactional_db, embedding):
    store = {"BACKEND": f"{__name__}.Interrupted"}
    return VectorStoreIndex("default", embedding="concepts", store=store)


def test_what_another_puts_back_while_it_is_withdrawn_is_in_the_store(interrupted):
    """A page is unpublished by one process and published again by another."""
    interrupted.put([with_vectors(1, "espresso")])
    Interrupted.before_delete = partial(interrupted.put, [with_vectors(1, "espresso")])
    interrupted.remove([ObjectKey("page", "1")])
    assert in_store(interrupted) == 1
    assert found(interrupted, "lounge") == ["1"]
    assert not IndexLeftover.objects.exists()


def test_what_another_has_sent_and_not_written_yet_is_sent_again_by_him(interrupted):
    """The other one's vectors are there before they are withdrawn, his rows after that."""
    interrupted.put([with_vectors(1, "espresso")])
    again = [with_vectors(1, "espresso")]
    other = sent_before("default", interrupted.tables().outside, again)
    Interrupted.before_delete = other.__enter__
    interrupted.remove([ObjectKey("page", "1")])
    assert in_store(interrupted, again[0].stored.embedding) == 0
    interrupted.tables().put(again)
    other.__exit__(None, None, None)
    assert in_store(interrupted) == 1
    make_old()
    interrupted.finish()
    assert in_store(interrupted) == 1
    assert not IndexLeftover.objects.exists()


class Hanging(InMemoryVectorStore):
    lets_go = threading.Event()

    def similarity_search(self, *args, **kwargs):
        Hanging.lets_go.wait(60)
        return super().similarity_search(*args, **kwargs)


def test_searches_that_hang_for_good_keep_no_later_one_from_its_vectors(
    transactional_db, embedding, monkeypatch
):
    monkeypatch.setattr(stores_module, "SEARCH_SECONDS", 0.5)
    store = {"BACKEND": f"{__name__}.Hanging"}
    index = VectorStoreIndex("default", embedding="concepts", store=store)
    index.put([with_vectors(1, "espresso")])
    hung = Hanging.lets_go
    try:
        for _ in range(9):
            assert found(index, "lounge") == []
            resting.forget()
        Hanging.lets_go = threading.Event()
        Hanging.lets_go.set()
        assert found(index, "lounge") == ["1"]
    finally:
        hung.set()
        resting.forget()
