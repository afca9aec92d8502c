"""The index in PostgreSQL: the same contract, the same ranking as on SQLite."""

import random
import threading

import pytest
from django.db import OperationalError, connections, transaction

from ai_answers.indexing import index_objects, index_source
from ai_answers.models import IndexState
from ai_answers.retrieval.database import DatabaseIndex
from ai_answers.sources import get_source
from tests.site.models import Article

from ..routers import index_in
from .contract import IndexContract, entry, found
from .embedding import settings_with_embedding

on_both = pytest.mark.django_db(databases=["default", "postgresql"])
pytestmark = on_both


@on_both
class TestWords(IndexContract):
    @pytest.fixture
    def index(self, on_postgresql):
        return DatabaseIndex("default")


@on_both
class TestWordsAndVectors(IndexContract):
    @pytest.fixture
    def index(self, on_postgresql, settings):
        settings.AI_ANSWERS = settings_with_embedding()
        return DatabaseIndex("default", embedding="concepts")


TOPICS = {
    "en": "heron gull parcel harbour ferry timetable ticket library opening insurance winter "
    "counting swimming children's garden roofs bridges repairing painted windows",
    "de": "Reiher Möwen Pakete Hafen Fähren Fahrpläne Fahrkarten Bücherei Öffnungszeiten Winter "
    "Zählungen Schwimmbäder Kindergärten Dächer Brücken reparieren gestrichene Fenster",
    "zh": "图书馆开放时间 借书证费用 儿童阅览室 港口渡轮 冬季游泳池 桥梁维修 行李保险 花园窗户",
}


def made_up(rng, language, number):
    words = TOPICS[language].split()
    picked = rng.choices(
        words, [1 / (rank + 1) for rank in range(len(words))], k=rng.randint(5, 60)
    )
    return entry(number, " ".join(picked), language=language, title=rng.choice(words))


def rankings(index, queries):
    return [
        [(hit.chunk.key.entity_id, round(hit.score, 4)) for hit in index.search(
            query, tags=frozenset(), limit=10, language=language)]
        for language, query in queries
    ]  # fmt: skip


def test_both_databases_rank_alike(on_postgresql):
    """The words are the same, the frequencies are, and so is the formula."""
    if on_postgresql == "default":
        pytest.skip("the whole suite runs on PostgreSQL")
    rng = random.Random(4)
    entries = [made_up(rng, rng.choice([*TOPICS]), number) for number in range(300)]
    queries = [
        (language, " ".join(rng.choices(TOPICS[language].split(), k=rng.randint(1, 5))))
        for language in TOPICS
        for _ in range(20)
    ]
    found = {}
    for database in ("default", on_postgresql):
        with index_in(database):
            index = DatabaseIndex("parity")
            index.put(entries)
            found[database] = rankings(index, queries)

    for query, one, other in zip(queries, *found.values(), strict=True):
        scores = [[score for _, score in ranking] for ranking in (one, other)]
        assert scores[0] == pytest.approx(scores[1], abs=2e-4), query
        # Where scores are equal, either may come first.
        assert {i for i, s in one if s > scores[0][-1]} == {
            i for i, s in other if s > scores[0][-1]
        }


def counted(database, index="default"):
    with connections[database].cursor() as cursor:
        cursor.execute(
            "SELECT word, chunks, length FROM ai_answers_wordcount "
            'WHERE "index" = %s AND chunks > 0', [index],
        )  # fmt: skip
        return {word: (chunks, length) for word, chunks, length in cursor.fetchall()}


def test_counts_follow_every_change(on_postgresql):
    index = DatabaseIndex("default")
    index.put([entry(1, "heron heron reeds"), entry(2, "heron")])
    assert counted(on_postgresql) == {"": (2, 6), "heron": (2, 0), "reed": (1, 0)} | heading(2)
    index.put([entry(1, "gull")])
    assert counted(on_postgresql) == {"": (2, 4), "heron": (1, 0), "gull": (1, 0)} | heading(2)
    index.remove_documents([(entry(2, "").document.key, "en")])
    assert counted(on_postgresql) == {"": (1, 2), "gull": (1, 0)} | heading(1)
    index.clear()
    assert counted(on_postgresql) == {}


def heading(chunks):
    """The word of the heading that the contract's entries have."""
    return {"part": (chunks, 0)}


def test_a_transaction_that_is_rolled_back_leaves_no_ghost(on_postgresql):
    index = DatabaseIndex("default")
    index.put([entry(1, "heron")])
    with pytest.raises(ZeroDivisionError), transaction.atomic(using=on_postgresql):
        index.put([entry(2, "heron gull")])
        raise ZeroDivisionError
    assert found(index, "gull") == []
    assert found(index, "heron") == ["1"]


def test_after_other_means_have_deleted_chunks_clearing_counts_anew(on_postgresql):
    index = DatabaseIndex("default")
    index.put([entry(1, "heron")])
    index.tables().documents.all().delete()
    index.clear("page")
    index.put([entry(2, "gull")])
    assert found(index, "gull") == ["2"]
    assert index.tables().words.total("default") == 1


def test_a_source_that_is_cleared_half_leaves_the_others_findable(on_postgresql):
    """The process dies, or a statement times out, while words are counted anew."""
    index = DatabaseIndex("default")
    index.put([entry(1, "heron"), entry(2, "gull")])

    def die(execute, sql, *args):
        if "ts_stat" in sql:
            raise OperationalError("canceling statement due to statement timeout")
        return execute(sql, *args)

    with connections[on_postgresql].execute_wrapper(die), pytest.raises(OperationalError):
        index.clear("other")
    assert found(index, "heron") == ["1"]
    assert counted(on_postgresql)[""] == (2, 4)


def test_after_a_flush_nothing_is_left_of_what_was_before(on_postgresql):
    """Django's flush knows nothing of the table of words."""
    index = DatabaseIndex("default")
    index.put([entry(n, "heron") for n in range(50)])
    index.tables().documents.all().delete()
    IndexState.objects.all().delete()
    index.put([entry(1, "heron"), entry(2, "gull")])
    assert found(index, "heron", limit=5) == ["1"]
    assert index.tables().words.total("default") == 2


def test_every_frequency_is_read_back_from_the_vector(on_postgresql):
    """The trick with ``ts_rank``: from one to more times than count."""
    index = DatabaseIndex("default")
    index.put([entry(n, " ".join(["heron"] * n + ["x"] * (90 - n))) for n in range(1, 80)])
    hits = index.search("heron", tags=frozenset(), limit=100)
    assert [int(hit.chunk.key.entity_id) for hit in hits[-63:]] == list(range(63, 0, -1))
    assert len({hit.score for hit in hits}) == 64


def test_a_very_long_chunk_is_stored(on_postgresql):
    index = DatabaseIndex("default")
    index.put([entry(1, " ".join(f"word{number}" for number in range(20_000)))])
    assert found(index, "word19999") == ["1"]


def test_what_postgresql_does_not_store_is_taken_from_texts(on_postgresql):
    article = Article.objects.create(title="Gate", body="A heron at the gate.")
    source = get_source("site.article")
    article.body, article.title = "A he\0ron at the \ud800 gate.", "Ga\0te"
    [document] = source.documents(article)
    assert (document.title, document.text) == ("Gate", "A heron at the ? gate.")
    assert index_source(source).added == 1


@pytest.mark.django_db(transaction=True, databases=["default", "postgresql"])
def test_two_writers_at_once_lose_nothing(on_postgresql):
    articles = [Article.objects.create(title=f"Page {n}", body="A heron.") for n in range(30)]
    source, errors = get_source("site.article"), []

    def work(ids):
        try:
            for entity_id in ids:
                index_objects(source, [entity_id])
        except Exception as error:  # reported by the assertion
            errors.append(error)
        finally:
            connections.close_all()

    ids = [str(article.pk) for article in articles]
    threads = [threading.Thread(target=work, args=(some,)) for some in (ids, ids[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    index = DatabaseIndex("default")
    assert len(found(index, "heron", limit=50)) == 30
    assert index.tables().words.total("default") == 30
    index.clear()
