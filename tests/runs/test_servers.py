"""Streaming through real servers, with a real HTTP model server behind the site."""

import os
import shutil
import signal
import sqlite3
import time
from contextlib import closing

import pytest

from ..openai_server import OpenAIServer, Stream, Wait, chunk, text
from ..servers import fill, serve, text_of

pytestmark = pytest.mark.servers

ANSWER = "Parcels leave the depot on Friday at six [1]. " + "The gate opens at five then. " * 5


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    database = tmp_path_factory.mktemp("site") / "site.sqlite3"
    fill(database)
    return database


@pytest.fixture
def database(filled, tmp_path):
    return shutil.copy(filled, tmp_path / "site.sqlite3")


def rows(database, sql):
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(sql).fetchall()


@pytest.mark.parametrize("kind", ["uvicorn", "gunicorn", "runserver"])
@pytest.mark.parametrize("atomic", ["", "1"], ids=["plain", "ATOMIC_REQUESTS"])
def test_an_answer_streams_as_it_is_written(kind, atomic, database):
    with (
        OpenAIServer(text(ANSWER, delay_seconds=0.05)) as model,
        serve(kind, database, model.base_url, SITE_ATOMIC_REQUESTS=atomic) as site,
    ):
        began = time.monotonic()
        times, frames = [], []
        with site.ask() as (response, stream):
            assert response.status_code == 200
            for frame in stream:
                frames.append(frame)
                times.append(time.monotonic() - began)
        kinds = [frame.kind for frame in frames]
        assert kinds[0] == "turn" and kinds[-1] == "done"
        tokens = [at for at, kind_ in zip(times, kinds, strict=True) if kind_ == "token"]
        # The model writes for two seconds: text that comes all at once was not streamed.
        assert len(tokens) >= 5 and tokens[-1] - tokens[0] > 1
        assert text_of(frames) == frames[-1].data["text"]
        assert frames[-1].data["references"][0]["label"] == "Depot times"
    assert rows(database, "select outcome from ai_answers_turn") == [("answered",)]


@pytest.mark.parametrize("kind", ["uvicorn", "gunicorn"])
def test_a_visitor_is_answered_in_his_language(kind, database):
    with (
        OpenAIServer(text("")) as model,
        serve(kind, database, model.base_url) as site,
        site.ask("Wann verlassen Pakete das Depot?", language="de") as (_, stream),
    ):
        frames = list(stream)
    references = next(f for f in frames if f.kind == "references").data["references"]
    assert references[0]["label"] == "Zeiten des Depots"  # S54
    assert frames[-1].data["outcome"] == "no_answer"
    assert frames[-1].data["text"] == "Dazu habe ich auf unseren Seiten nichts gefunden."


@pytest.mark.parametrize("kind", ["uvicorn", "gunicorn"])
def test_a_cut_stream_is_resumed_without_gap_or_repeat(kind, database):
    with (
        OpenAIServer(text(ANSWER, delay_seconds=0.1)) as model,
        serve(kind, database, model.base_url) as site,
    ):
        seen = []
        with site.ask() as (_, stream):
            for frame in stream:
                seen.append(frame)
                if len([f for f in seen if f.kind == "token"]) == 3:
                    break
        run = seen[0].data["run"]
        for _ in range(3):  # gunicorn has three workers; two of them read from the database
            with site.resume(run, seen[-1].id) as (response, stream):
                assert response.status_code == 200
                rest = list(stream)
            assert rest[-1].kind == "done"
            assert [f.id for f in rest] == sorted({f.id for f in rest})
            assert rest[0].id > seen[-1].id
            assert text_of(seen + rest) == rest[-1].data["text"]
        with site.resume(run, rest[-1].id) as (response, _):
            assert response.status_code == 204
    assert len(model.requests) == 1


@pytest.mark.parametrize("kind", ["uvicorn", "gunicorn"])
def test_a_closed_tab_loses_no_answer(kind, database):
    with (
        OpenAIServer(text(ANSWER, delay_seconds=0.03)) as model,
        serve(kind, database, model.base_url) as site,
    ):
        with site.ask() as (_, stream):
            turn = next(stream).data
        path = f"/ai-answers/conversations/{turn['conversation_id']}"
        deadline = time.monotonic() + 60
        while site.client.get(path).json()["run"] and time.monotonic() < deadline:
            time.sleep(0.2)
        (saved,) = site.client.get(path).json()["turns"]
    assert saved["outcome"] == "answered" and saved["text"].startswith("Parcels leave")


@pytest.mark.parametrize("kind", ["uvicorn", "gunicorn"])
def test_stop_ends_the_models_request_at_once_from_any_process(kind, database):
    stalled = Stream(steps=[chunk(content="On Friday [1]."), Wait(seconds=60)])
    with (
        OpenAIServer(stalled) as model,
        serve(kind, database, model.base_url) as site,
        site.ask() as (_, stream),
    ):
        frames = []
        for frame in stream:
            frames.append(frame)
            if frame.kind == "token":
                break
        # A worker may serve its first request here, so time counts from its answer.
        answer = site.post(f"runs/{frames[0].data['run']}/stop")
        stopped_at = time.monotonic()
        assert answer.json() == {"status": "stopping"}
        frames += list(stream)
        assert model.gone.wait(5)
        # Half a second for the poller; the rest is what a loaded machine may take.
        assert model.requests[0].disconnected_at - stopped_at < 2
        assert frames[-1].kind == "stopped" and frames[-1].data["text"] == "On Friday[1]."


def test_an_idle_stream_is_kept_alive_by_comments(database):
    slow = Stream(steps=[Wait(seconds=3), chunk(content="Now."), chunk(finish_reason="stop")])
    with (
        OpenAIServer(slow) as model,
        serve("uvicorn", database, model.base_url) as site,
        site.ask() as (response, _),
    ):
        body = "\n".join(response.iter_lines())
    assert body.startswith("retry: ") and body.count(": still here") >= 2


def test_a_killed_workers_run_ends_as_interrupted(database):
    """The row of a dead process is found by whoever reads it next."""
    stalled = Stream(steps=[chunk(content="On Friday [1]. More"), Wait(seconds=60)])
    with OpenAIServer(stalled) as model:
        with serve("uvicorn", database, model.base_url) as site, site.ask() as (_, stream):
            frames = [next(stream)]
            while frames[-1].kind != "token":
                frames.append(next(stream))
            os.killpg(site.process.pid, signal.SIGKILL)
            site.process.wait()
        old = "update ai_answers_run set heartbeat_at = datetime('now', '-1 hour')"
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute(old)
        run = frames[0].data["run"]
        with (
            serve("gunicorn", database, model.base_url) as site,
            site.resume(run, frames[-1].id) as (_, stream),
        ):
            rest = list(stream)
    assert rest[-1].kind == "error" and rest[-1].data["code"] == "interrupted"
    assert rest[-1].data["message"] and rest[-1].id > frames[-1].id
    assert rows(database, "select outcome from ai_answers_turn") == [("interrupted",)]


@pytest.mark.parametrize("kind", ["uvicorn", "gunicorn"])
def test_a_server_that_is_told_to_stop_lets_an_answer_come_to_its_end(kind, database):
    slow = Stream(
        steps=[
            chunk(content="On Friday [1]. "),
            Wait(seconds=1),
            chunk(content="At six."),
            chunk(finish_reason="stop"),
        ]
    )
    with (
        OpenAIServer(slow) as model,
        serve(kind, database, model.base_url) as site,
        site.ask() as (_, stream),
    ):
        while next(stream).kind != "token":
            pass
        site.process.terminate()
        assert list(stream)[-1].kind == "done"
        site.process.wait(20)
    assert rows(database, "select outcome, answer from ai_answers_turn") == [
        ("answered", "On Friday[1]. At six.")
    ]


@pytest.mark.parametrize(
    ("kind", "is_read"), [("uvicorn", True), ("uvicorn", False), ("gunicorn", False)]
)
def test_a_server_that_is_told_to_stop_saves_what_its_runs_have_written(kind, is_read, database):
    """A run that nobody reads is not waited for. gunicorn kills a worker that still streams."""
    stalled = Stream(steps=[chunk(content="On Friday [1]. More"), Wait(seconds=60)])
    with (
        OpenAIServer(stalled) as model,
        serve(kind, database, model.base_url) as site,
        site.ask() as (response, stream),
    ):
        while next(stream).kind != "token":
            pass
        if not is_read:
            response.close()
        site.process.terminate()
        site.process.wait(20)
        assert model.gone.wait(5)
    assert rows(database, "select outcome, answer from ai_answers_turn") == [
        ("interrupted", "On Friday[1]. More")
    ]
    assert rows(database, "select status, error_code from ai_answers_run") == [
        ("ended", "interrupted")
    ]
