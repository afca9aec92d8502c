import threading
from typing import ClassVar

import numpy as np
import pytest
from django.core.management import call_command
from django.db import connection, connections

from ai_answers.exceptions import ConfigurationError
from ai_answers.models import IndexedChunk, IndexedVector, IndexState
from ai_answers.retrieval import get_index
from ai_answers.retrieval.database import DatabaseIndex
from ai_answers.retrieval.embeddings import embed_texts, embedding_identity

from .contract import IndexContract, entry, found
from .embedding import ConceptEmbedding, settings_with_embedding


@pytest.mark.django_db
class TestByWords(IndexContract):
    @pytest.fixture
    def index(self):
        return DatabaseIndex("default")


@pytest.mark.django_db
class TestByWordsAndVectors(IndexContract):
    """Without vectors yet, as after a save: words alone must carry it."""

    @pytest.fixture
    def index(self, embedding):
        return DatabaseIndex("default", embedding="concepts")


def with_vectors(number, text, **options):
    made = entry(number, text, **options)
    vectors = embed_texts("concepts", [chunk.text for chunk in made.chunks])
    stored = made.stored.__class__(
        checksum="c", fingerprint="f", embedding=embedding_identity("concepts")
    )
    return made.__class__(
        document=made.document, stored=stored, chunks=made.chunks, vectors=vectors
    )


PAGES = ["parcels leave on friday", "the fee is four euros", "coffee in the lounge", "an alarm"]


@pytest.fixture
def hybrid(db, embedding):
    index = get_index()
    index.put([with_vectors(number, text) for number, text in enumerate(PAGES)])
    return index


def test_scores_of_full_text_are_bm25_and_those_with_vectors_fused(db, embedding, hybrid):
    plain = DatabaseIndex("default")
    [hit, *_] = plain.search("friday", tags=frozenset(), limit=3)
    assert hit.score_kind == "bm25"
    [hit, *_] = hybrid.search("friday", tags=frozenset(), limit=3)
    assert hit.score_kind == "fused"
    assert 0 < hit.score <= 1


def test_what_shares_no_word_is_found_by_its_meaning(hybrid):
    assert found(DatabaseIndex("default"), "shipment departure") == []
    assert found(hybrid, "shipment departure")[0] == "0"
    assert found(hybrid, "espresso")[0] == "2"


def test_another_process_sees_additions_changes_and_removals_at_its_next_search(hybrid):
    other = DatabaseIndex("default", embedding="concepts")
    assert found(other, "espresso")[0] == "2"

    hybrid.put([with_vectors(9, "espresso espresso"), with_vectors(2, "siren")])
    assert found(other, "espresso")[0] == "9"
    assert found(other, "burglar")[:2] in (["2", "3"], ["3", "2"])

    hybrid.remove([entry(9, "").document.key])
    assert "9" not in found(other, "espresso")


def test_only_new_vectors_are_read(hybrid, django_assert_max_num_queries):
    found(hybrid, "espresso")
    hybrid.put([with_vectors(20, "espresso")])
    with django_assert_max_num_queries(20) as queries:
        found(hybrid, "espresso")
    read = [q["sql"] for q in queries if '"vector"' in q["sql"] and '"version" >' in q["sql"]]
    assert len(read) == 1


def test_tags_narrow_the_vectors_too(hybrid):
    hybrid.put([with_vectors(n, "coffee", tags=["staff"]) for n in range(100, 300)])
    assert found(hybrid, "espresso", limit=5)[0] == "2"
    assert not set(map(str, range(100, 300))) & set(found(hybrid, "espresso", limit=5))
    assert len(found(hybrid, "espresso", tags=["staff"], limit=250)) > 200


def test_an_embedding_that_is_down_leaves_the_words(hybrid, caplog):
    hybrid_hits = found(hybrid, "fee")
    ConceptEmbedding.is_down = True
    assert found(hybrid, "fee") == ["1"]
    assert hybrid_hits[0] == "1"
    assert "by words alone" in caplog.text
    assert "fee" not in caplog.text.split("Traceback")[0]


def test_vectors_of_another_embedding_are_not_mixed_in(hybrid, settings):
    settings.AI_ANSWERS = settings_with_embedding(model="other", dimensions=3)
    other = get_index()
    assert found(other, "espresso") == []
    assert found(other, "coffee") == ["2"]


def test_vectors_of_several_lengths_leave_the_words_and_a_warning_what_to_do(hybrid, caplog):
    vectors = IndexedVector.objects.order_by("pk").first()
    vectors.vector = np.ones(3, "<f4").tobytes()
    vectors.save()
    assert found(DatabaseIndex("default", embedding="concepts"), "coffee") == ["2"]
    assert "--rebuild" in caplog.text


def test_two_indexes_are_apart(db):
    first, second = DatabaseIndex("first"), DatabaseIndex("second")
    first.put([entry(1, "heron")])
    second.put([entry(2, "heron")])
    assert found(first, "heron") == ["1"]
    assert found(second, "heron") == ["2"]
    first.clear()
    assert found(second, "heron") == ["2"]


def test_chunks_deleted_behind_its_back_are_not_found_and_their_words_go(db):
    index = DatabaseIndex("default")
    index.put([entry(1, "heron"), entry(2, "heron")])
    IndexedChunk.objects.filter(document__entity_id="1").delete()
    assert found(index, "heron") == ["2"]
    index.clear("nothing")
    assert index.tables().words.total("default") == 1


def test_a_failed_write_leaves_nothing_behind(db):
    index = DatabaseIndex("default")
    good, bad = entry(1, "heron"), entry(2, "heron", vectors=[np.ones(2)] * 5)
    with pytest.raises(ValueError, match="zip"):
        index.put([good, bad])
    assert found(index, "heron") == []


class Watched(str):
    """A language that notes when words are cut to the stems of it."""

    cut_in_transaction: ClassVar[list[bool]] = []

    def replace(self, *args):
        self.cut_in_transaction.append(connection.in_atomic_block)
        return super().replace(*args)


@pytest.mark.django_db(transaction=True)
def test_words_are_made_before_the_transaction_that_keeps_other_writers_out():
    index = DatabaseIndex("default")
    index.put([entry(1, "heron|gull|tern", language=Watched("en"))])
    assert found(index, "gull") == ["1"]
    assert set(Watched.cut_in_transaction) == {False}
    assert len(Watched.cut_in_transaction) == 1 + 3 * 2  # the title once a document


def test_a_misspelt_word_finds_its_neighbour(db):
    index = DatabaseIndex("default")
    index.put([entry(1, "the pagination of long lists"), entry(2, "something else")])
    assert found(index, "pagnation") == ["1"]
    assert found(index, "paginatoin") == ["1"]


def test_names_are_found_whole_and_by_their_parts(db):
    index = DatabaseIndex("default")
    index.put([entry(1, "call get_queryset on TokenAuthentication"), entry(2, "nothing")])
    for query in ["get_queryset", "queryset", "TokenAuthentication", "tokenauthentication"]:
        assert found(index, query) == ["1"]


@pytest.mark.parametrize(
    ("language", "text", "query"),
    [
        ("de", "Die Bücherei öffnet montags.", "Wann sind die Büchereien geöffnet?"),
        ("de", "Öffnungszeiten der Bibliothek", "oeffnungszeiten"),
        ("fr", "Les horaires de la bibliothèque", "horaire bibliotheque"),
        ("es", "Los horarios de las bibliotecas", "¿Cuál es el horario de la biblioteca?"),
        ("zh", "图书馆星期一开放。", "图书馆什么时候开放?"),
        ("ja", "図書館は月曜日に開きます。", "図書館はいつ開きますか"),
        ("th", "ห้องสมุดเปิดวันจันทร์", "ห้องสมุด"),
        ("ar", "تفتح المكتبة يوم الاثنين", "متى تفتح المكتبات؟"),
        ("ru", "Библиотека открыта по понедельникам", "когда открыты библиотеки"),
        ("hi", "पुस्तकालय सोमवार को खुलता है", "पुस्तकालय"),
    ],
)
def test_each_language_is_found_in_its_own_words(db, language, text, query):
    index = DatabaseIndex("default")
    index.put([entry(1, text, language=language), entry(2, "xyz", language="en")])
    assert found(index, query) == ["1"]


@pytest.mark.django_db(transaction=True)
def test_searches_and_writes_at_once_never_fail(embedding):
    index, errors = get_index(), []

    def write():
        try:
            for number in range(15):
                index.put([with_vectors(number % 5, f"coffee number {number}")])
        except Exception as error:
            errors.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        found(index, "espresso")
    assert errors == []
    assert index.stats().documents == 5


@pytest.mark.django_db(transaction=True)
def test_after_a_flush_the_index_can_be_filled_again():
    index = DatabaseIndex("default")
    index.put([entry(1, "heron"), entry(2, "gull")])
    call_command("flush", interactive=False, verbosity=0)
    assert found(index, "heron") == []
    index.put([entry(1, "tern")])
    assert found(index, "tern") == ["1"]
    assert found(index, "heron") == []


def test_another_database_is_refused_by_name(db, monkeypatch):
    monkeypatch.setattr(connection, "vendor", "oracle")
    with pytest.raises(ConfigurationError, match="oracle"):
        DatabaseIndex("default").stats()


def test_a_finish_that_changes_nothing_makes_nobody_read_all_again(db):
    index = DatabaseIndex("default")
    index.put([entry("1", "Herons.")])
    index.finish()
    before = IndexState.objects.get().removed
    index.finish()
    assert IndexState.objects.get().removed == before


DATABASE_INDEX = "ai_answers.retrieval.database.DatabaseIndex"
RETRIEVER_INDEX = "ai_answers.retrieval.retriever.RetrieverIndex"


@pytest.mark.parametrize(
    ("backend", "options", "said"),
    [
        (DATABASE_INDEX, {"word_weight": 0.5}, "'word_weight' in them.*unexpected keyword"),
        (DATABASE_INDEX, {"words_weight": "0.5"}, "from 0 to 1, not '0.5'"),
        (DATABASE_INDEX, {"words_weight": None}, "from 0 to 1, not None"),
        (DATABASE_INDEX, ["x"], r"OPTIONS must be a dict, not \['x'\]"),
        (DATABASE_INDEX, {"words": {"BACKEND": "collections.OrderedDict"}}, "no subclass of"),
        (RETRIEVER_INDEX, {"retriever": {"BACKEND": "x"}, "keys": ["a"]}, "'keys' must be a dict"),
        (RETRIEVER_INDEX, {"retriever": {"BACKEND": "builtins.dict", "OPTIONS": None}},
         "OPTIONS must be a dict, not None"),
    ],
)  # fmt: skip
def test_options_that_cannot_be_are_named(db, settings, backend, options, said):
    settings.AI_ANSWERS = {"INDEXES": {"default": {"BACKEND": backend, "OPTIONS": options}}}
    with pytest.raises(ConfigurationError, match=said):
        get_index().search("heron", tags=frozenset(), limit=1)


def test_an_alias_longer_than_its_column_is_refused(settings):
    settings.AI_ANSWERS = {"INDEXES": {"a" * 101: {"BACKEND": DATABASE_INDEX}}}
    with pytest.raises(ConfigurationError, match="101 characters"):
        get_index("a" * 101)
