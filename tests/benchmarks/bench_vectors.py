"""Nearest vectors in each kind of index against bare NumPy and LangChain's own store, in one run.

    python tests/benchmarks/bench_vectors.py [10000 100000]

Clustered random vectors of 384 numbers, 20 nearest, one thread. Recall is against the exact 20.
"narrow": one document in a hundred is open to the asker.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

import django
import numpy as np
from django.conf import settings

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
DIMENSIONS, K, QUERIES, CHUNKS = 384, 20, 100, 100
OPEN = 100
"""One document in so many is open to everyone, the others to staff."""
EMBEDDING = "bench"


STAFF = frozenset({"staff"})


def main() -> None:
    sizes = [int(argument) for argument in sys.argv[1:]] or [10_000, 100_000]
    with tempfile.TemporaryDirectory() as folder:
        from tests import postgres

        settings.configure(
            SECRET_KEY="benchmark",
            USE_TZ=True,
            INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "ai_answers",
                            "ai_answers.contrib.pgvector"],
            DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
            DATABASES={
                "default": {"ENGINE": "django.db.backends.sqlite3",
                            "NAME": Path(folder) / "bench.sqlite3"},
                "postgresql": postgres.entry(),
            },
            DATABASE_ROUTERS=["tests.routers.TableRouter"],
            AI_ANSWERS={"EMBEDDINGS": {EMBEDDING: {"BACKEND": "builtins.object"}}},
        )  # fmt: skip
        django.setup()
        from django.core.management import call_command

        for database in ("default", "postgresql"):
            call_command("migrate", database=database, verbosity=0, skip_checks=True)
        for size in sizes:
            bench(size)


def vectors_of(size: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(200, DIMENSIONS))
    made = centres[rng.integers(0, 200, size)] + 0.9 * rng.normal(size=(size, DIMENSIONS))
    asked = centres[rng.integers(0, 200, QUERIES)] + 0.9 * rng.normal(size=(QUERIES, DIMENSIONS))
    return tuple((a / np.linalg.norm(a, axis=1, keepdims=True)).astype("f4") for a in (made, asked))


def bench(size: int) -> None:
    vectors, queries = vectors_of(size)
    exact = [set(np.argsort(-(vectors @ query))[:K].tolist()) for query in queries]
    bare = time_each(lambda query: np.argpartition(vectors @ query, -K)[-K:], queries)
    show(size, "bare NumPy product", bare)
    found = langchain(vectors)
    show(size, "LangChain InMemoryVectorStore", time_each(found, queries[:10]), bare=bare)
    is_open = np.arange(size) // CHUNKS % OPEN == 0
    scores = [np.where(is_open, vectors @ query, -1.0) for query in queries]
    narrow = [set(np.argsort(-row)[:K].tolist()) for row in scores]
    for name, database in (("DatabaseIndex, memory", "default"), ("PgVectorIndex", "postgresql")):
        search = ours(vectors, database)
        for kind, tags, best in (("", STAFF, exact), (", narrow", frozenset(), narrow)):
            seconds = time_each(lambda query, tags=tags: search(query, tags), queries)  # noqa: B023
            hits = [
                len(set(search(query, tags)) & wanted)
                for query, wanted in zip(queries[:30], best, strict=False)
            ]
            recall = statistics.mean(hits) / K
            show(size, name + kind, seconds, recall=recall, bare=bare)


def langchain(vectors):
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    class Ready(Embeddings):
        def embed_documents(self, texts):
            return [vectors[int(text)].tolist() for text in texts]

        def embed_query(self, text):
            return self.query

    embedding = Ready()
    store = InMemoryVectorStore(embedding)
    store.add_texts([str(number) for number in range(len(vectors))])

    def search(query):
        return store.similarity_search_by_vector(query.tolist(), k=K)

    return search


def ours(vectors, database):
    from ai_answers.contrib.pgvector.index import PgVectorIndex
    from ai_answers.retrieval import Entry, Stored
    from ai_answers.retrieval.database import DatabaseIndex
    from ai_answers.retrieval.embeddings import embedding_identity
    from ai_answers.values import Chunk, Document, ObjectKey
    from tests.routers import index_in

    alias = f"speed{len(vectors)}"
    identity = embedding_identity(EMBEDDING)
    with index_in(database):
        make = PgVectorIndex if database == "postgresql" else DatabaseIndex
        index = make(alias, embedding=EMBEDDING)
        started = time.perf_counter()
        for start in range(0, len(vectors), CHUNKS):
            key = ObjectKey("bench", str(start))
            rows = vectors[start : start + CHUNKS]
            chunks = [
                Chunk(id=None, key=key, language="", position=n, text=f"text {start + n}",
                      title="", url="")
                for n in range(len(rows))
            ]  # fmt: skip
            tags = frozenset() if start // CHUNKS % OPEN == 0 else STAFF
            document = Document(key=key, language="", title="", url="", text="", access_tags=tags)
            stored = Stored(checksum="c", fingerprint="f", embedding=identity)
            index.put([Entry(document=document, stored=stored, chunks=chunks, vectors=rows)])
        written = time.perf_counter() - started
        index.finish()
        built = time.perf_counter() - started - written
        leg = index.tables().vectors
        numbers = {
            chunk_id: int(chunk.key.entity_id) + chunk.position
            for chunk_id, chunk in index.tables().chunks(all_ids(index)).items()
        }
    print(f"{len(vectors)} {database}: written in {written:.1f} s, finished in {built:.1f} s")

    def search(query, tags):
        with index_in(database):
            found = leg.nearest(query, embedding=identity, tags=tags, limit=K, also=[])
        return [numbers[chunk_id] for chunk_id in found.cosines]

    return search


def all_ids(index) -> list[int]:
    from ai_answers.models import IndexedChunk

    rows = IndexedChunk.objects.using(index.tables().using).filter(document__index=index.alias)
    return list(rows.values_list("pk", flat=True))


def time_each(function, queries) -> list[float]:
    seconds = []
    for query in queries:
        started = time.perf_counter()
        function(query)
        seconds.append(time.perf_counter() - started)
    return sorted(seconds)


def show(size, name, seconds, *, recall=1.0, bare=None) -> None:
    times = f" = {statistics.median(seconds) / statistics.median(bare):.2f} × bare" if bare else ""
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{size} {name:30} p50 {statistics.median(seconds) * 1000:8.2f} ms, "
        f"p95 {seconds[int(len(seconds) * 0.95)] * 1000:8.2f} ms{times}, recall@{K} {recall:.3f}, "
        f"process {memory:.0f} MB at most",
        flush=True,
    )


if __name__ == "__main__":
    main()
