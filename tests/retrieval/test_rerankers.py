"""Reordering hits: what a reranker reads, what it may answer, what its failure changes."""

from __future__ import annotations

import json
import math
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from langchain_core.documents import BaseDocumentCompressor
from pydantic import ValidationError

from ai_answers.indexing import index_source
from ai_answers.retrieval import explain, rerankers, score_kind_of, search
from ai_answers.retrieval.rerank_endpoint import RerankEndpoint
from ai_answers.retrieval.trying import Rest
from ai_answers.sources import get_source
from tests.site.models import Article

from .test_searching import ANYONE

pytestmark = pytest.mark.django_db


class Service:
    """A server that ranks texts by how often they say "best", in one of the common shapes."""

    def __init__(self):
        self.bodies, self.keys = [], []
        self.answer = self.cohere
        self.status = 200
        self.location = ""
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.bodies.append(body)
                service.keys.append(self.headers.get("Authorization"))
                self.send_response(service.status)
                if service.location:
                    self.send_header("Location", service.location)
                self.end_headers()
                self.wfile.write(json.dumps(service.answer(body)).encode())

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @staticmethod
    def scores(texts):
        return [(place, text.count("best") / 10) for place, text in enumerate(texts)]

    def cohere(self, body):
        """Cohere v2, Jina, vLLM and llama.cpp, sorted; with what else they send."""
        ranked = sorted(self.scores(body["documents"]), key=lambda pair: -pair[1])
        results = [{"index": i, "relevance_score": s} for i, s in ranked][: body.get("top_n")]
        return {"id": "x", "model": body.get("model"), "results": results, "usage": {}}

    def tei(self, body):
        return [{"index": i, "score": s} for i, s in self.scores(body["texts"])]


@pytest.fixture
def service(settings):
    running = Service()
    options = {"url": f"http://127.0.0.1:{running.server.server_port}/rerank", "model": "m",
               "api_key": "secret"}  # fmt: skip
    use(settings, f"{RerankEndpoint.__module__}.RerankEndpoint", options)
    resting = rerankers.resting
    yield running
    rerankers.resting = resting
    resting.forget()
    running.server.shutdown()
    running.server.server_close()


def use(settings, backend, options):
    rerankers.resting.forget()
    index = {"BACKEND": "ai_answers.retrieval.database.DatabaseIndex", "RERANKER": "order"}
    settings.AI_ANSWERS = {
        "RERANKERS": {"order": {"BACKEND": backend, "OPTIONS": options}},
        "INDEXES": {"default": index},
    }


def make(*texts):
    for number, text in enumerate(texts):
        Article.objects.create(title=f"Page {number}", body=text)
    index_source(get_source("site.article"))


def test_the_order_is_the_rerankers_and_its_score_the_hits(service):
    """R9, X77: before anything else sees it."""
    make("heron", "heron best", "heron best best")
    hits = search("default", "heron", asker=ANYONE)
    assert [hit.chunk.title for hit in hits] == ["Page 2", "Page 1", "Page 0"]
    assert [hit.score for hit in hits] == [0.2, 0.1, 0.0]
    assert {hit.score_kind for hit in hits} == {"order"} and score_kind_of("default") == "order"
    assert hits[0].scores["order"] == 0.2 and hits[0].scores["bm25"] > 0
    assert service.keys == ["Bearer secret"] and service.bodies[0]["model"] == "m"


def test_a_service_with_texts_and_a_plain_list_is_understood(service, settings):
    service.answer = service.tei
    url = f"http://127.0.0.1:{service.server.server_port}/rerank"
    use(settings, f"{RerankEndpoint.__module__}.RerankEndpoint",
        {"url": url, "texts_key": "texts", "top_n": 2})  # fmt: skip
    make("heron", "heron best", "heron best best")
    hits = search("default", "heron", asker=ANYONE)
    assert [hit.chunk.title for hit in hits] == ["Page 2", "Page 1"]


def test_chunks_of_one_document_are_told_apart(service):
    """R12, R13, R23, X78: the reranker reads the chunk, so chunks can change places."""
    filler = "The heron waits in the reeds and looks at the water. " * 30
    make(f"# One\n\nheron heron {filler}\n\n# Two\n\nA heron. The best, best answer. {filler}")
    plain = explain("default", "heron", asker=ANYONE)
    texts = service.bodies[0]["documents"]
    assert len(texts) > 1 and len(set(texts)) == len(texts)
    assert "best, best" in plain.hits[0].chunk.text
    assert len({hit.chunk.key for hit in plain.hits}) == 1


def test_the_pool_is_wider_than_what_is_wanted(service):
    """R7, R15: it cannot lift what it does not see."""
    make(*["heron heron heron"] * 12, "heron and much else that is best to read here")
    hits = search("default", "heron", asker=ANYONE, amount=2)
    assert len(service.bodies[0]["documents"]) == 13
    assert hits[0].chunk.title == "Page 12" and len(hits) == 2


def broken(answer, status=200):
    return pytest.param(answer, status, id=f"{status} {json.dumps(answer)[:40]}")


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        broken({"error": "busy"}, 500),
        broken({"error": "key"}, 401),
        broken({"results": [{"index": 99, "relevance_score": 1}]}),
        broken({"results": [{"index": -1, "relevance_score": 1}]}),
        broken({"results": [{"relevance_score": 1}]}),
        broken({"results": [{"index": 0, "relevance_score": "NaN"}]}),
        broken({"results": [{"index": 0, "relevance_score": 1}] * 2}),
        broken({"results": [{"index": 0, "relevance_score": 1}]}),
        broken({"results": [{"index": 0.5, "relevance_score": 1}]}),
        broken({"results": [{"index": 0}, {"index": 1}]}),
        broken({"results": [{"index": i, "relevance_score": math.nan} for i in (0, 1)]}),
        broken({"results": []}),
        broken({"results": "none"}),
        broken("text"),
    ],
)
def test_a_failure_keeps_the_order_and_says_so(service, caplog, answer, status):
    """X75, T11; the gate for the reranker's scores is left out as well (R14)."""
    make("heron best", "heron heron heron")
    service.answer, service.status = lambda body: answer, status
    explanation = explain("default", "heron", asker=ANYONE, min_score=0.9)
    assert [hit.chunk.title for hit in explanation.hits] == ["Page 1", "Page 0"]
    assert explanation.notes and explanation.score_kind == "bm25"
    assert "the order stays" in caplog.text and "heron" not in caplog.text


def test_one_that_fails_is_left_alone_for_a_while(service):
    make("heron")
    service.status = 500
    for _ in range(3):
        assert len(search("default", "heron", asker=ANYONE)) == 1
    assert len(service.bodies) == 1


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_text_that_is_refused_does_not_keep_it_from_the_next(service, status):
    make("heron", "heron best")
    service.status = status
    search("default", "heron", asker=ANYONE)
    service.status = 200
    assert search("default", "heron", asker=ANYONE)[0].score_kind == "order"


def test_one_that_fails_is_said_once_until_it_answers_again(service, caplog):
    caplog.set_level("INFO", "ai_answers")
    make("heron", "heron best")
    rerankers.resting = Rest(seconds=0)
    service.status = 503
    for _ in range(3):
        search("default", "heron", asker=ANYONE)
    service.status = 200
    assert search("default", "heron", asker=ANYONE)[0].score_kind == "order"
    said = [record for record in caplog.records if record.name == rerankers.__name__]
    assert [record.levelname for record in said] == ["WARNING", "INFO", "INFO", "INFO"]
    assert "answers again" in said[-1].getMessage() and "heron" not in caplog.text


def test_one_that_is_too_slow_keeps_the_order(service, settings):
    """X75: whatever its own timeout, which a server may stretch with a byte now and then."""
    settings.AI_ANSWERS["RERANKERS"]["order"]["SECONDS"] = 0.2
    make("heron best", "heron heron heron")
    release = threading.Event()
    service.answer = lambda body: release.wait(10) and {}
    started = time.monotonic()
    hits = search("default", "heron", asker=ANYONE)
    assert time.monotonic() - started < 5
    release.set()
    assert [hit.chunk.title for hit in hits] == ["Page 1", "Page 0"]


@pytest.mark.parametrize("status", [302, 307])
def test_a_key_is_not_taken_to_where_a_service_points(service, status):
    elsewhere = Service()
    make("heron")
    service.status = status
    service.location = f"http://127.0.0.1:{elsewhere.server.server_port}/rerank"
    assert search("default", "heron", asker=ANYONE)[0].score_kind == "bm25"
    assert elsewhere.bodies == [] and len(service.bodies) == 1
    elsewhere.server.shutdown()
    elsewhere.server.server_close()


def test_what_else_a_service_wants_is_sent_along(service, settings):
    options = settings.AI_ANSWERS["RERANKERS"]["order"]["OPTIONS"]
    extra = {"truncate": True, "query": "no"}
    use(settings, f"{RerankEndpoint.__module__}.RerankEndpoint", {**options, "extra_body": extra})
    make("heron")
    search("default", "heron", asker=ANYONE)
    assert service.bodies[0]["truncate"] is True and service.bodies[0]["query"] == "heron"


class Wavering(BaseDocumentCompressor):
    """Scores the first text only, or gives it a place that there is not."""

    place: int = 0

    def compress_documents(self, documents, query, callbacks=None):
        documents[0].metadata.update(relevance_score=0.5, place=self.place)
        return documents


@pytest.mark.parametrize("place", [0, 99])
def test_a_compressor_at_odds_with_itself_keeps_the_order(settings, place):
    make("heron", "heron heron")
    use(settings, f"{__name__}.Wavering", {"place": place})
    hits = search("default", "heron", asker=ANYONE)
    assert [hit.chunk.title for hit in hits] == ["Page 1", "Page 0"]
    assert {hit.score_kind for hit in hits} == {"bm25"}


class Twice(BaseDocumentCompressor):
    def compress_documents(self, documents, query, callbacks=None):
        for document in documents:
            document.metadata["relevance_score"] = 0.5
        return [documents[1], documents[1]]


def test_a_compressor_may_keep_some_and_what_it_says_twice_counts_once(settings):
    make("heron", "heron heron")
    use(settings, f"{__name__}.Twice", {})
    hits = search("default", "heron", asker=ANYONE)
    assert [(hit.chunk.title, hit.score_kind) for hit in hits] == [("Page 0", "order")]


class Backwards(BaseDocumentCompressor):
    """One of LangChain's that gives no score."""

    def compress_documents(self, documents, query, callbacks=None):
        return list(reversed(documents))


def test_any_compressor_of_langchain_will_do(settings):
    """R4: without scores the hits keep theirs, in its order."""
    make("heron", "heron heron")
    use(settings, f"{__name__}.Backwards", {})
    explanation = explain("default", "heron", asker=ANYONE, min_score=1_000)
    assert [hit.chunk.title for hit in explanation.hits] == ["Page 0", "Page 1"]
    assert (explanation.score_kind, explanation.notes) == ("bm25", ())  # as set up: no failure


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://host/", "rerank"])
def test_only_http_addresses_are_asked(url):
    with pytest.raises(ValidationError, match="http"):
        RerankEndpoint(url=url)
