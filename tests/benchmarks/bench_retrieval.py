"""How good and how fast the search is, on public corpora that are not part of the project.

    python tests/benchmarks/bench_retrieval.py [cranfield] [xquad] [pages] [speed] [indexing]
        [--embedding DOTTED.PATH] [--reranker DOTTED.PATH]
        [--database postgresql] [--misses]

``AI_ANSWERS_CORPUS`` names the folder with ``cranfield/``, ``xquad/`` and ``drf-docs/``;
default: ``../shared/corpus`` beside the project. A missing corpus is skipped and said so.
With an embedding each leg is measured alone and fused; ``tests.benchmarks.caching`` has one that
keeps its vectors. ``pages`` indexes a folder of Markdown and reports, by kind of question, how
often an expected page is among the first five documents.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import os
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

import django
from django.conf import settings

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(os.environ.get("AI_ANSWERS_CORPUS") or ROOT.parent / "shared" / "corpus")
BARS = {"cranfield": 0.385, "en": 0.97, "de": 0.93, "zh": 0.93, "ar": 0.86, "es": None}
TOP = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", default=["cranfield", "xquad", "pages", "speed"])
    parser.add_argument("--embedding", help="dotted path of a LangChain Embeddings class")
    parser.add_argument("--reranker", help="dotted path of a LangChain document compressor")
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--queries", type=int, default=200, help="XQuAD questions a language")
    parser.add_argument("--misses", action="store_true", help="print the questions that miss")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        set_up(Path(folder), options)
        for part in options.parts:
            globals()[f"bench_{part}"](options)


def set_up(folder: Path, options) -> None:
    sys.path.insert(0, str(ROOT))
    embedding = options.embedding
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": folder / "bench.sqlite3"}
    if options.database == "postgresql":
        from tests import postgres

        database = postgres.entry()
    backend = "ai_answers.retrieval.database.DatabaseIndex"
    apps = ["django.contrib.auth", "django.contrib.contenttypes", "ai_answers"]
    if options.database == "postgresql" and embedding:
        backend = "ai_answers.contrib.pgvector.index.PgVectorIndex"
        apps.append("ai_answers.contrib.pgvector")
    settings.configure(
        SECRET_KEY="benchmark",
        USE_TZ=True,
        INSTALLED_APPS=apps,
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        DATABASES={"default": database},
        AI_ANSWERS={
            "EMBEDDINGS": {"bench": {"BACKEND": embedding}} if embedding else {},
            "RERANKERS": {"bench": {"BACKEND": options.reranker}} if options.reranker else {},
            "INDEXES": {
                "default": {
                    "BACKEND": backend,
                    "EMBEDDING": "bench" if embedding else None,
                }
            },
        },
    )
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0, skip_checks=True)


def index_texts(name: str, texts: dict[str, tuple[str, str]], language: str) -> float:
    """Index id → (title, text) and return the seconds it took."""
    from ai_answers.indexing import index_source
    from ai_answers.sources import PublicSource, register_source

    class Texts(PublicSource):
        def get_ids(self):
            return list(texts)

        def get_objects(self, ids):
            return {entity_id: entity_id for entity_id in ids if entity_id in texts}

        def get_id(self, obj):
            return obj

        def get_languages(self, obj):
            return [language]

        def get_title(self, obj, code):
            return texts[obj][0]

        def get_url(self, obj, code):
            return ""

        def get_content(self, obj, code):
            return texts[obj][1]

    source = Texts()
    source.name = name
    register_source(source)
    return index_source(source).seconds


def forget(name: str) -> None:
    from ai_answers.retrieval import get_index
    from ai_answers.sources import unregister

    get_index().clear(name)
    unregister(name)
    from ai_answers.models import IndexState

    IndexState.objects.update(languages=[])


def legs() -> dict[str, object]:
    """Return what is measured: the words, and with an embedding the vectors and both."""
    from ai_answers.retrieval import get_index
    from ai_answers.retrieval.database import DatabaseIndex

    index = get_index()
    if not index.embedding:
        return {"words": index}
    make = type(index)
    return {
        "words": DatabaseIndex("default"),
        "vectors": make("default", embedding="bench", words_weight=0.0),
        "hybrid": index,
    }


def evaluate(name: str, queries, language: str, bar: float | None = None) -> None:
    """Report each leg on ``queries``: pairs of a text and the set of relevant ids."""
    from ai_answers.retrieval.rerankers import rerank

    measured = legs()
    if settings.AI_ANSWERS["RERANKERS"]:
        measured["reranked"] = measured[list(measured)[-1]]
    for leg, index in measured.items():
        values, recalls, seconds = [], [], []
        for query, relevant in queries:
            started = time.perf_counter()
            hits = index.search(query, tags=frozenset(), limit=60, language=language)
            if leg == "reranked":
                hits = [*rerank("bench", query, hits[:20]).hits, *hits[20:]]
            seconds.append(time.perf_counter() - started)
            found = list(dict.fromkeys(hit.chunk.key.entity_id for hit in hits))[:20]
            values.append(ndcg(found, relevant))
            recalls.append(len(relevant & set(found)) / len(relevant))
        report(f"{name} {leg}", values, recalls, seconds, bar if leg != "vectors" else None)


def documents_for(query: str, language: str, amount: int) -> list[str]:
    """Return the ids of the first distinct documents."""
    from django.contrib.auth.models import AnonymousUser

    from ai_answers.retrieval import search
    from ai_answers.values import Asker

    asker = Asker(user=AnonymousUser(), language=language)
    hits = search("default", query, asker=asker, amount=amount * 3)
    return list(dict.fromkeys(hit.chunk.key.entity_id for hit in hits))[:amount]


def ndcg(found: list[str], relevant: set[str]) -> float:
    gain = sum(1 / math.log2(rank + 2) for rank, i in enumerate(found[:TOP]) if i in relevant)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(len(relevant), TOP)))


def report(name: str, values, recalls, seconds: list[float], bar: float | None) -> None:
    mean = statistics.mean(values)
    verdict = "" if bar is None else f"  bar {bar}: {'ok' if round(mean, 3) >= bar else 'BELOW'}"
    print(
        f"{name:24} nDCG@{TOP} {mean:.4f}  recall@20 {statistics.mean(recalls):.4f}  "
        f"n={len(values)}  "
        f"p50 {statistics.median(seconds) * 1000:.1f} ms{verdict}",
        flush=True,
    )


def bench_cranfield(options) -> None:
    folder = CORPUS / "cranfield"
    if not folder.is_dir():
        return print(f"cranfield: skipped, no {folder}")
    texts = {}
    everything = (folder / "cran.all.1400").read_text()
    for item in re.split(r"^\.I ", everything, flags=re.M)[1:]:
        number, _, rest = item.partition("\n")
        title = re.search(r"^\.T\n(.*?)^\.A", rest, re.S | re.M)
        body = rest.partition(".W\n")[2]
        texts[number.strip()] = (" ".join(title[1].split()) if title else "", body)
    relevant = collections.defaultdict(set)
    for line in (folder / "cranqrel").read_text().split("\n"):
        if len(parts := line.split()) >= 3 and 1 <= int(parts[2]) <= 4:
            relevant[int(parts[0])].add(parts[1])
    queries = [
        query.partition(".W\n")[2]
        for query in re.split(r"^\.I ", (folder / "cran.qry").read_text(), flags=re.M)[1:]
    ]
    index_texts("cranfield", texts, "en")
    judged = [
        (" ".join(query.split()), relevant[number])
        for number, query in enumerate(queries, 1)
        if relevant[number]
    ]
    evaluate("cranfield", judged, "en", BARS["cranfield"])
    forget("cranfield")


def bench_xquad(options) -> None:
    folder = CORPUS / "xquad"
    if not folder.is_dir():
        return print(f"xquad: skipped, no {folder}")
    for code, query_code in [
        ("en", "en"),
        ("de", "de"),
        ("zh", "zh"),
        ("ar", "ar"),
        ("es", "es"),
        ("en", "de"),
    ]:
        texts, _ = xquad(folder, code)
        _, questions = xquad(folder, query_code)
        index_texts("xquad", texts, code)
        step = max(1, len(questions) // options.queries)
        judged = [(query, {entity_id}) for query, entity_id in questions[::step]]
        name = f"xquad {code}" if code == query_code else f"xquad {query_code} → {code}"
        evaluate(name, judged, query_code, BARS[code] if code == query_code else None)
        forget("xquad")


def xquad(folder: Path, code: str):
    data = json.loads((folder / f"xquad.{code}.json").read_text())["data"]
    texts, questions = {}, []
    for article_number, article in enumerate(data):
        for number, paragraph in enumerate(article["paragraphs"]):
            entity_id = f"{article_number}-{number}"
            texts[entity_id] = ("", paragraph["context"])
            questions += [(qa["question"], entity_id) for qa in paragraph["qas"]]
    return texts, questions


def bench_pages(options) -> None:
    folder, file = CORPUS / "drf-docs", CORPUS / "drf-questions.jsonl"
    if not file.is_file():
        return print(f"pages: skipped, no {file}")
    from ai_answers.indexing import index_source
    from ai_answers.sources import PublicDirectorySource, register_source

    source = PublicDirectorySource(path=folder, base_url="/docs/", name="pages", language="en")
    print("pages:", index_source(register_source(source)))
    kinds, total = collections.Counter(), collections.Counter()
    judged = []
    for line in file.read_text().splitlines():
        item = json.loads(line)
        if not item["pages"]:
            continue
        query = item["question"]
        if item.get("previous"):  # the chat model would ask so that the question stands alone
            query = f"{item['previous']} {query}"
        judged.append((query, set(item["pages"])))
        found = documents_for(query, "en", 5)
        total[item["kind"]] += 1
        hit = bool(set(found) & set(item["pages"]))
        kinds[item["kind"]] += hit
        if options.misses and not hit:
            print(f"  missed ({item['kind']}): {query!r} {item['pages']} got {found}")
    for kind in total:
        print(f"pages {kind:16} {kinds[kind]}/{total[kind]}")
    print(f"pages {'all':16} {sum(kinds.values())}/{sum(total.values())}")
    evaluate("pages", judged, "en")
    forget("pages")


def bench_speed(options) -> None:
    """Search over 10,000 and 100,000 chunks of made-up text with the word counts of a language."""
    import random

    rng = random.Random(7)
    vocabulary = [f"w{number}" for number in range(60_000)]
    weights = [1 / (rank + 3) for rank in range(len(vocabulary))]
    queries = [" ".join(rng.choices(vocabulary[20:3000], k=6)) for _ in range(60)]
    for size in (10_000, 100_000):
        words = iter(rng.choices(vocabulary, weights, k=size * 120))
        texts = {str(n): ("", " ".join(next(words) for _ in range(120))) for n in range(size)}
        seconds_to_index = index_texts("speed", texts, "en")
        seconds = []
        for query in queries:
            started = time.perf_counter()
            documents_for(query, "en", 5)
            seconds.append(time.perf_counter() - started)
        seconds.sort()
        print(
            f"speed {size} chunks: p50 {statistics.median(seconds) * 1000:.1f} ms, "
            f"p95 {seconds[int(len(seconds) * 0.95)] * 1000:.1f} ms; "
            f"indexed in {seconds_to_index:.1f} s",
            flush=True,
        )
        forget("speed")


def bench_indexing(options) -> None:
    """What indexing takes over the calls of the embedding alone, within one run."""
    import random

    from ai_answers.conf import import_part

    inside = []

    def timed(embed):
        def embed_documents(self, texts):
            started = time.perf_counter()
            try:
                return embed(self, texts)
            finally:
                inside.append(time.perf_counter() - started)

        return embed_documents

    embedding = import_part(options.embedding, setting="--embedding")
    embedding.embed_documents = timed(embedding.embed_documents)
    rng = random.Random(7)
    vocabulary = [f"w{number}" for number in range(20_000)]
    weights = [1 / (rank + 3) for rank in range(len(vocabulary))]
    texts = {str(n): ("", " ".join(rng.choices(vocabulary, weights, k=120))) for n in range(60)}
    seconds = index_texts("indexing", texts, "en")
    print(
        f"indexing {len(texts)} chunks: {seconds:.1f} s, of them {sum(inside):.1f} s in "
        f"{len(inside)} calls of the embedding = {seconds / sum(inside):.3f} ×"
    )


if __name__ == "__main__":
    main()
