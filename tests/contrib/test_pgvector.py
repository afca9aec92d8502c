"""Vectors in PostgreSQL: the contract of every index, and what only this one does."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from django.db import connections

from ai_answers.contrib.pgvector import index as pgvector_index
from ai_answers.contrib.pgvector.index import PgVectorIndex
from ai_answers.exceptions import ConfigurationError, EmbeddingFailed
from ai_answers.retrieval.embeddings import embed_texts, embedding_identity
from ai_answers.values import ObjectKey

from ..retrieval.conftest import embedding, on_postgresql  # noqa: F401 - fixtures
from ..retrieval.contract import IndexContract, entry, found
from ..retrieval.embedding import settings_with_embedding

on_both = pytest.mark.django_db(databases=["default", "postgresql"])
pytestmark = on_both


def with_vectors(number, text, *, vectors=None, alias="concepts", **options):
    made = entry(number, text, **options)
    if vectors is None:
        vectors = embed_texts(alias, [chunk.text for chunk in made.chunks])
    stored = made.stored.__class__(
        checksum=text, fingerprint="f", embedding=embedding_identity(alias)
    )
    return made.__class__(
        document=made.document, stored=stored, chunks=made.chunks, vectors=vectors
    )


@pytest.fixture
def index(on_postgresql, embedding):  # noqa: F811
    return PgVectorIndex("default", embedding="concepts")


@on_both
class TestContract(IndexContract):
    """Without vectors yet, as after a save."""

    @pytest.fixture
    def index(self, on_postgresql, embedding):  # noqa: F811
        return PgVectorIndex("default", embedding="concepts")


def test_meaning_is_found_and_removed_with_its_document(index):
    index.put([with_vectors(1, "espresso and kaffee"), with_vectors(2, "burglar siren")])
    assert found(index, "lounge") == ["1"]
    assert index.stats().vectors == 2
    index.remove([ObjectKey("page", "1")])
    assert found(index, "lounge") == []
    assert index.stats().vectors == 1


def test_hits_carry_the_score_of_each_leg(index):
    index.put([with_vectors(1, "coffee"), with_vectors(2, "a lorry")])
    hit = index.search("coffee", tags=frozenset(), limit=5)[0]
    assert hit.score_kind == "fused"
    assert set(hit.scores) == {"bm25", "cosine", "fused"}
    assert hit.scores["cosine"] == pytest.approx(1, abs=1e-3)


def unit(rng, rows, dimensions=32):
    vectors = rng.normal(size=(rows, dimensions)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def many(index, monkeypatch):
    """2,000 random vectors of one object, one chunk in a hundred of them for staff alone."""
    monkeypatch.setattr(pgvector_index, "EXACT", 500)
    vectors = unit(np.random.default_rng(1), 2_000)
    entries = [
        with_vectors(n, f"text {n}", vectors=vectors[n : n + 1],
                     tags=["staff"] if n % 100 else ["open"])
        for n in range(2_000)
    ]  # fmt: skip
    for start in range(0, len(entries), 500):
        index.put(entries[start : start + 500])
    index.finish()
    return index, vectors


def nearest(index, query, *, tags, limit=20):
    leg = index.tables().vectors
    result = leg.nearest(
        query, embedding=embedding_identity("concepts"), tags=frozenset(tags), limit=limit, also=[]
    )
    chunks = index.tables().chunks(list(result.cosines))
    return [int(chunks[chunk_id].key.entity_id) for chunk_id in result.cosines], result


def test_the_index_finds_nearly_all_and_a_filter_still_fills_the_limit(many):
    """Recall@20 of at least 0.95, also where one chunk in a hundred is open to the asker."""
    index, vectors = many
    name = index.tables().vectors._index_name(embedding_identity("concepts"))
    hits = 0
    for query in unit(np.random.default_rng(2), 20):
        cosines = vectors @ query
        ids, result = nearest(index, query, tags={"staff", "open"})
        hits += len(set(np.argsort(-cosines)[:20].tolist()) & set(ids))
        assert result.usual == pytest.approx(cosines.mean(), abs=0.02)
        assert result.spread == pytest.approx(cosines.std(), rel=0.1)

        ids, _ = nearest(index, query, tags={"open"})
        assert len(ids) == 20 and all(n % 100 == 0 for n in ids)
    assert hits / (20 * 20) >= 0.95
    with connections[index.tables().using].cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(
            f"EXPLAIN {pgvector_index.NEAREST.format(dimensions=32)}", plan_values(vectors)
        )
        assert name in str(cursor.fetchall())


def plan_values(vectors):
    text = pgvector_index._text(vectors[0])
    return [text, "default", embedding_identity("concepts"), [], text, 20]


def test_one_embedding_serves_until_the_next_is_complete(index, settings):
    index.put([with_vectors(1, "coffee"), with_vectors(2, "siren")])
    changed = settings_with_embedding()
    changed["EMBEDDINGS"]["newer"] = {
        "BACKEND": "tests.retrieval.embedding.ConceptEmbedding", "OPTIONS": {"model": "newer"},
    }  # fmt: skip
    settings.AI_ANSWERS = changed
    newer = PgVectorIndex("default", embedding="newer")
    assert found(newer, "espresso") == ["1"]
    newer.put([with_vectors(1, "coffee", alias="newer")])
    assert newer.tables().state().embedding == embedding_identity("concepts")
    assert found(newer, "espresso") == ["1"]
    newer.put([with_vectors(2, "siren", alias="newer")])
    assert newer.tables().state().embedding == embedding_identity("newer")
    newer.finish()
    assert newer.tables().vectors.count(embedding_identity("concepts")) == 0
    assert found(newer, "espresso") == ["1"]


def test_another_length_is_refused_and_says_what_to_do(index):
    index.put([with_vectors(1, "coffee")])
    with pytest.raises(EmbeddingFailed, match="--rebuild"):
        index.put([with_vectors(2, "siren", vectors=np.eye(1, 3, dtype=np.float32))])


@pytest.mark.django_db
def test_another_database_is_refused_by_name(settings):
    if "postgresql" not in settings.DATABASES:
        pytest.skip("the whole suite runs on PostgreSQL")
    with pytest.raises(ConfigurationError, match="'sqlite'"):
        PgVectorIndex("default").stats()


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
