"""Vectors in PostgreSQL: the contract of every index, and what only this one does."""

from __future__ import annotations

import subprocess
import sys
import threading
from hashlib import sha256
from importlib import import_module

import numpy as np
import pytest
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import ConnectionHandler, connections, transaction
from django.db.utils import DatabaseError, NotSupportedError
from django.test.utils import CaptureQueriesContext, modify_settings
from django.utils.module_loading import import_string

from ai_answers.contrib.pgvector.index import PgVectorIndex
from ai_answers.exceptions import ConfigurationError, EmbeddingFailed
from ai_answers.models import IndexedChunk
from ai_answers.retrieval import get_index
from ai_answers.retrieval.database import DatabaseIndex
from ai_answers.retrieval.embeddings import embed_texts, embedding_identity
from ai_answers.values import ObjectKey

from ..retrieval.conftest import embedding, on_postgresql  # noqa: F401 - fixtures
from ..retrieval.contract import IndexContract, entry, found
from ..retrieval.embedding import settings_with_embedding

on_both = pytest.mark.django_db(databases="__all__")
committing = pytest.mark.django_db(databases="__all__", transaction=True)
pytestmark = on_both
DIMENSIONS = 32
"""Of generated vectors."""
CHUNKS = 50
"""Of a document with generated vectors."""


def with_vectors(number, text, *, vectors=None, alias="concepts", **options):
    made = entry(number, text, **options)
    if vectors is None:
        vectors = embed_texts(alias, [chunk.text for chunk in made.chunks])
    checksum = sha256(text.encode()).hexdigest()
    stored = made.stored.__class__(
        checksum=checksum, fingerprint="f", embedding=embedding_identity(alias)
    )
    return made.__class__(
        document=made.document, stored=stored, chunks=made.chunks, vectors=vectors
    )


def clustered(rows, *, seed, dimensions=DIMENSIONS):
    """Vectors around forty centres, as texts about forty subjects have."""
    centres = np.random.default_rng(5).normal(size=(40, dimensions))
    rng = np.random.default_rng(seed)
    made = centres[rng.integers(0, 40, rows)] + 0.6 * rng.normal(size=(rows, dimensions))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def fill(index, vectors, *, tags_of=lambda number: ()):
    """Put fifty chunks a document; the vectors are numbered throughout."""
    index.put(
        [
            with_vectors(
                number,
                "|".join(f"text {number} {position}" for position in range(len(rows))),
                vectors=rows,
                tags=tags_of(number),
            )
            for number in range(-(-len(vectors) // CHUNKS))
            for rows in [vectors[number * CHUNKS : (number + 1) * CHUNKS]]
        ]
    )


def nearest(index, query, *, tags=(), limit=20, also=()):
    """Return the numbers of the nearest, best first, and what else the leg says."""
    result = index.tables().vectors.nearest(
        query,
        embedding=embedding_identity("concepts"),
        tags=frozenset(tags),
        limit=limit,
        also=also,
    )
    chunks = index.tables().chunks(list(result.cosines))
    places = [chunks[chunk_id] for chunk_id in result.cosines]
    return [int(chunk.key.entity_id) * CHUNKS + chunk.position for chunk in places], result


def graphs(index):
    """Return the definitions of the HNSW indexes there are, by name."""
    with connections[index.tables().using].cursor() as cursor:
        cursor.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'ai_answers_pgvector' "
            "AND indexdef LIKE %s",
            ["%hnsw%"],
        )
        return dict(cursor.fetchall())


@pytest.fixture
def index(on_postgresql, embedding):  # noqa: F811
    return PgVectorIndex("default", embedding="concepts")


@pytest.fixture
def eager(on_postgresql, embedding):  # noqa: F811
    """An index that has a graph from two vectors on."""
    return PgVectorIndex("default", embedding="concepts", exact_up_to=1)


@on_both
class TestContract(IndexContract):
    """Without vectors yet, as after a save."""

    @pytest.fixture
    def index(self, on_postgresql, embedding):  # noqa: F811
        return PgVectorIndex("default", embedding="concepts")


def test_meaning_is_found_and_removed_with_its_document(index):
    index.put(
        [with_vectors(1, "espresso"), with_vectors(2, "siren"), with_vectors(3, "fee for leaves")]
    )
    assert found(index, "lounge")[0] == "1"
    assert index.stats().vectors == 3
    index.remove([ObjectKey("page", "1")])
    assert "1" not in found(index, "lounge")
    assert index.stats().vectors == 2


def test_hits_carry_the_score_of_each_leg(index):
    index.put([with_vectors(1, "coffee"), with_vectors(2, "a lorry")])
    hit = index.search("coffee", tags=frozenset(), limit=5)[0]
    assert hit.score_kind == "fused"
    assert set(hit.scores) == {"bm25", "cosine", "fused"}
    assert hit.scores["cosine"] == pytest.approx(1, abs=1e-3)


def test_the_short_path_of_the_backend_leads_to_it(index, settings):
    entry = {"BACKEND": "ai_answers.contrib.pgvector.PgVectorIndex", "EMBEDDING": "concepts"}
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "INDEXES": {"default": entry}}
    assert type(get_index()) is PgVectorIndex
    assert [m for m in run_checks() if m.id == "ai_answers.E002"] == []
    with pytest.raises(ImportError):
        import_string("ai_answers.contrib.pgvector.PgVector")


@pytest.fixture
def many(on_postgresql, embedding):  # noqa: F811
    """5,000 vectors: all for staff, one in five for members, one in a hundred for guests."""

    def tags_of(document):
        more = {"members": document % 5 == 0, "guests": document == 0}
        return ["staff", *(tag for tag, given in more.items() if given)]

    index = PgVectorIndex("default", embedding="concepts", exact_up_to=500)
    vectors = clustered(5_000, seed=1)
    fill(index, vectors, tags_of=tags_of)
    index.finish()
    return index, vectors


def test_the_nearest_are_found_whoever_asks(many):
    """Recall@20 of at least 0.95, and always twenty, also where one in a hundred is open."""
    index, vectors = many
    document = np.arange(len(vectors)) // CHUNKS
    for tag, is_open in (
        ("staff", document >= 0), ("members", document % 5 == 0), ("guests", document == 0)
    ):  # fmt: skip
        hits = 0
        for query in clustered(20, seed=2):
            cosines = np.where(is_open, vectors @ query, -1)
            ids, result = nearest(index, query, tags={tag})
            assert len(ids) == 20 and is_open[ids].all()
            assert list(result.cosines.values()) == sorted(result.cosines.values(), reverse=True)
            assert list(result.cosines.values()) == pytest.approx(cosines[ids], abs=2e-3)
            hits += len(set(np.argsort(-cosines)[:20].tolist()) & set(ids))
        assert hits >= 0.95 * 20 * 20, tag


def test_chunks_that_were_asked_for_come_with_their_cosine_however_far(many):
    index, vectors = many
    _, all_of_guests = nearest(index, -vectors[0], tags={"guests"}, limit=50)
    asked = list(all_of_guests.cosines)
    ids, result = nearest(index, vectors[0], tags={"staff"}, limit=5, also=asked)
    assert set(asked) <= set(result.cosines)
    assert list(result.cosines.values()) == pytest.approx((vectors @ vectors[0])[ids], abs=2e-3)


def test_nothing_is_found_that_is_closed_to_the_asker(many):
    index, vectors = many
    ids, result = nearest(index, vectors[0], tags={"strangers"})
    assert ids == []
    assert result.spread > 0


def plans(index, query, tags):
    """Return how PostgreSQL finds the nearest: the statements of a search, explained."""
    connection = connections[index.tables().using]
    with CaptureQueriesContext(connection) as captured:
        nearest(index, query, tags=tags)
    found = []
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        for statement in (query["sql"] for query in captured.captured_queries):
            if statement.startswith("SELECT set_config"):
                cursor.execute(statement)
            elif "ORDER BY (vector" in statement:
                cursor.execute(f"EXPLAIN {statement}")
                found.append("\n".join(row[0] for row in cursor.fetchall()))
    return found


def test_the_graph_is_followed_only_where_many_are_open(many):
    index, vectors = many
    (name,) = graphs(index)
    (plan,) = plans(index, vectors[0], {"staff"})
    assert name in plan
    (plan,) = plans(index, vectors[0], {"guests"})
    assert name not in plan


def test_what_is_usual_is_estimated_from_a_sample_and_exact_for_few(many):
    index, vectors = many
    for query in clustered(10, seed=3):
        cosines = vectors @ query
        _, result = nearest(index, query)
        assert result.usual == pytest.approx(cosines.mean(), abs=0.02)
        assert result.spread == pytest.approx(cosines.std(), rel=0.1)
    few = vectors[:300]
    index.clear()
    fill(index, few)
    again = PgVectorIndex("default", embedding="concepts")  # as another process
    _, result = nearest(again, few[0])
    assert result.usual == pytest.approx((few @ few[0]).mean(), abs=1e-3)
    assert result.spread == pytest.approx((few @ few[0]).std(), abs=1e-3)


def test_settings_of_a_search_do_not_outlive_it(many):
    """Also inside a transaction of the caller, and whatever is written there stays."""
    index, vectors = many
    connection = connections[index.tables().using]

    def current():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT name, setting FROM pg_settings WHERE name ~ 'hnsw|enable_|jit|plan_cache'"
            )
            return dict(cursor.fetchall())

    nearest(index, vectors[0], tags={"staff"})
    before = current()
    with transaction.atomic(using=connection.alias):
        index.put([with_vectors(9_999, "new", vectors=vectors[:1])])
        for tag in ("staff", "guests"):
            nearest(index, vectors[0], tags={tag})
            assert current() == before
    assert current() == before
    assert index.stats().documents == 101


def test_one_embedding_serves_until_the_next_is_complete(eager, settings):
    """And its graph goes with it."""
    eager.put([with_vectors(1, "coffee"), with_vectors(2, "siren")])
    eager.finish()
    (old,) = graphs(eager)
    changed = settings_with_embedding()
    changed["EMBEDDINGS"]["newer"] = {
        "BACKEND": "tests.retrieval.embedding.ConceptEmbedding", "OPTIONS": {"model": "newer"},
    }  # fmt: skip
    settings.AI_ANSWERS = changed
    newer = PgVectorIndex("default", embedding="newer", exact_up_to=1)
    assert found(newer, "espresso") == ["1"]
    newer.put([with_vectors(1, "coffee", alias="newer")])
    assert newer.tables().state().embedding == embedding_identity("concepts")
    assert found(newer, "espresso") == ["1"]
    newer.put([with_vectors(2, "siren", alias="newer")])
    assert newer.tables().state().embedding == embedding_identity("newer")
    newer.finish()
    assert newer.tables().vectors.count(embedding_identity("concepts")) == 0
    assert len(graphs(newer)) == 1 and old not in graphs(newer)
    assert found(newer, "espresso") == ["1"]


def test_a_query_of_another_length_says_what_to_do(index):
    index.put([with_vectors(1, "coffee")])
    with pytest.raises(EmbeddingFailed, match=r"3 dimensions.* 6; run ai_answers_index --rebuild"):
        nearest(index, np.ones(3, np.float32))


def test_a_rebuild_takes_an_embedding_from_one_length_to_another(eager):
    """As where a service changes its model behind one name: document by document."""
    fill(eager, clustered(150, seed=1, dimensions=8))
    eager.finish()
    assert "halfvec(8)" in str(graphs(eager))
    vectors = clustered(150, seed=1, dimensions=16)
    fill(eager, vectors[:50])
    assert nearest(eager, vectors[7], limit=1)[0] == [7]
    assert len(nearest(eager, vectors[7], limit=100)[0]) == 50  # the others are to come
    fill(eager, vectors)
    eager.finish()
    (definition,) = graphs(eager).values()
    assert "halfvec(16)" in definition
    assert nearest(eager, vectors[133], limit=1)[0] == [133]


def test_vectors_too_long_for_a_graph_are_compared_one_by_one(eager, caplog):
    vectors = clustered(3, seed=1, dimensions=4_100)
    fill(eager, vectors)
    eager.finish()
    assert graphs(eager) == {}
    assert "4100 dimensions" in caplog.text
    assert nearest(eager, vectors[2], limit=1)[0] == [2]


def test_names_of_indexes_are_never_sql(eager):
    strange = PgVectorIndex(
        """it's 100% "mine" \\' %s""", embedding="concepts", exact_up_to=1
    )  # fmt: skip
    vectors = clustered(30, seed=1)
    for index in (strange, eager):
        fill(index, vectors)
        index.finish()
    assert len(graphs(eager)) == 2
    assert nearest(strange, vectors[7], limit=1)[0] == [7]
    strange.clear()
    strange.finish()
    assert len(graphs(eager)) == 1
    assert nearest(eager, vectors[7], limit=1)[0] == [7]


def test_vectors_leave_with_chunks_deleted_behind_the_index(index):
    index.put([with_vectors(1, "espresso"), with_vectors(2, "siren"), with_vectors(3, "a|b")])
    IndexedChunk.objects.filter(document__entity_id__in=["1", "3"]).delete()
    assert index.stats().vectors == 1


def test_a_write_that_is_rolled_back_leaves_no_vector(index):
    index.put([with_vectors(1, "espresso"), with_vectors(2, "siren")])
    with pytest.raises(RuntimeError), transaction.atomic(using=index.tables().using):
        index.put([with_vectors(3, "parcel"), with_vectors(4, "fee")])
        assert found(index, "shipment")[0] == "3"
        raise RuntimeError
    assert index.stats().vectors == 2
    assert not {"3", "4"} & set(found(index, "shipment"))
    assert found(index, "lounge")[0] == "1"


@committing
def test_graphs_are_built_beside_writers_and_only_where_one_is_lacking(eager):
    vectors = clustered(50, seed=1)
    fill(eager, vectors)
    eager.finish()
    (name,) = graphs(eager)
    with connections[eager.tables().using].cursor() as cursor:

        def asked(sql, *values):
            cursor.execute(sql, values)
            return cursor.fetchone()[0]

        oid = f"SELECT '{name}'::regclass::oid"
        memory = asked("SHOW maintenance_work_mem")
        first = asked(oid)
        eager.finish()
        assert asked(oid) == first
        # A build that was broken off leaves one that no search can use.
        cursor.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s", [first])
        eager.finish()
        assert asked(oid) != first
        assert asked("SHOW maintenance_work_mem") == memory
        assert asked("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0
    denser = PgVectorIndex("default", embedding="concepts", exact_up_to=1, m=8)
    denser.finish()
    (definition,) = graphs(denser).values()
    assert "m='8'" in definition
    assert nearest(denser, vectors[4], limit=1)[0] == [4]


@committing
def test_a_flush_takes_the_vectors_along(index):
    index.put([with_vectors(1, "espresso"), with_vectors(2, "siren")])
    call_command("flush", database=index.tables().using, interactive=False, verbosity=0)
    assert index.tables().vectors.count(embedding_identity("concepts")) == 0
    index.put([entry(3, "lorry"), entry(4, "tram")])
    assert found(index, "lounge") == []


@committing
def test_two_writers_and_a_reader_at_once_never_fail(eager):
    eager.put([with_vectors(0, "espresso"), with_vectors(1, "siren")])
    failures, done = [], threading.Event()

    def guarded(work, *arguments):
        try:
            work(*arguments)
        except Exception as error:
            failures.append(error)
        finally:
            connections.close_all()

    def write(first):
        for number in range(first, first + 15):
            # Both write number 1, and each its own.
            eager.put([with_vectors(number, "siren"), with_vectors(1, f"siren {number}")])
            if number % 5 == 0:
                eager.finish()

    def read():
        while not done.wait(0.01):
            assert "0" in found(eager, "lounge")

    reader = threading.Thread(target=guarded, args=[read])
    writers = [threading.Thread(target=guarded, args=[write, first]) for first in (100, 200)]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    assert failures == []
    assert eager.stats().vectors == eager.stats().chunks == 32
    eager.finish()
    assert len(graphs(eager)) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ef_search": 0}, "ef_search.*from 1 to 1000, not 0"),
        ({"ef_search": "many"}, "not 'many'"),
        ({"m": 1}, "m must be.*from 2 to 100, not 1"),
        ({"m": 40}, "ef_construction.*from 80 to 1000, not 64"),
        ({"exact_up_to": True}, "exact_up_to.*not True"),
    ],
)
def test_options_out_of_range_are_refused_by_name(options, said):
    with pytest.raises(ConfigurationError, match=said):
        PgVectorIndex("default", **options)


@pytest.mark.django_db
def test_another_database_is_refused_by_name(settings):
    if "postgresql" not in settings.DATABASES:
        pytest.skip("the whole suite runs on PostgreSQL")
    with pytest.raises(ConfigurationError, match="'sqlite'"):
        PgVectorIndex("default").stats()
    for path in ("PgVectorIndex", "index.PgVectorIndex"):
        entry = {"BACKEND": f"ai_answers.contrib.pgvector.{path}"}
        settings.AI_ANSWERS = {"INDEXES": {"default": entry}}
        (error,) = [m for m in run_checks() if m.id == "ai_answers.E020"]
        assert "'default'" in error.msg and "'sqlite'" in error.msg


@modify_settings(INSTALLED_APPS={"remove": "ai_answers.contrib.pgvector"})
@pytest.mark.parametrize("path", ["PgVectorIndex", "index.PgVectorIndex"])
def test_a_site_that_forgot_the_app_is_told_so(settings, path):
    with pytest.raises(ConfigurationError, match="INSTALLED_APPS"):
        PgVectorIndex("default")
    entry = {"BACKEND": f"ai_answers.contrib.pgvector.{path}"}
    settings.AI_ANSWERS = {"INDEXES": {"default": entry}}
    assert [m.msg for m in run_checks() if m.id == "ai_answers.E011"] == [
        "ai_answers.contrib.pgvector must be in INSTALLED_APPS."
    ]


@committing
def test_who_may_not_create_the_extension_is_told_what_to_run(on_postgresql):  # noqa: F811
    migration = import_module("ai_answers.contrib.pgvector.migrations.0001_vectors")
    settings = connections[on_postgresql].settings_dict
    with connections[on_postgresql].cursor() as cursor:
        cursor.execute("CREATE ROLE visitor LOGIN")
        cursor.execute("CREATE DATABASE without_extension")
    mine = {**settings, "NAME": "without_extension", "USER": "visitor"}
    connection = ConnectionHandler({"default": mine})["default"]
    try:
        with (
            pytest.raises(DatabaseError, match=r"run as a superuser.*CREATE EXTENSION"),
            connection.schema_editor() as editor,
        ):
            migration.create(None, editor)
    finally:
        connection.close()
        with connections[on_postgresql].cursor() as cursor:
            cursor.execute("DROP DATABASE without_extension")
            cursor.execute("DROP ROLE visitor")


def test_an_old_extension_is_refused_with_what_to_run(on_postgresql):  # noqa: F811
    migration = import_module("ai_answers.contrib.pgvector.migrations.0002_in_step")
    connection = connections[on_postgresql]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
    with (
        pytest.raises(NotSupportedError, match=r"'0\.7\.4'.*ALTER EXTENSION vector UPDATE"),
        connection.schema_editor(atomic=False) as editor,
    ):
        migration.create(None, editor)


def test_a_site_without_it_imports_nothing_of_it():
    code = (
        "import django, sys; django.setup(); "
        "import ai_answers.retrieval.database, ai_answers.indexing; "
        "print([n for n in sys.modules if 'pgvector' in n or 'psycopg' in n])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"DJANGO_SETTINGS_MODULE": "example_project.settings", "PATH": ""},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_vectors_kept_elsewhere_are_lacking_until_they_are_embedded_again(index):
    """From memory to pgvector and back, without ``--rebuild``; no chunk leaves a row behind."""
    name = embedding_identity("concepts")
    memory = DatabaseIndex("default", embedding="concepts")
    for before, after in ((memory, index), (index, memory)):
        before.clear()
        before.put([with_vectors(1, "espresso"), with_vectors(2, "siren")])
        assert before.outdated("page", fingerprint="f", embedding=name) == 0
        assert after.outdated("page", fingerprint="f", embedding=name) == 2
        assert {value.embedding for value in after.stored("page").values()} == {""}
        after.put([with_vectors(1, "espresso"), with_vectors(2, "burglar alarm")])
        assert after.outdated("page", fingerprint="f", embedding=name) == 0
        assert after.stats().vectors == 2
        assert found(after, "lounge") == ["1"]
