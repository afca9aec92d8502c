"""Two server processes that share nothing but a database: one writes, both may be asked."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import statistics
import threading
import time
from contextlib import closing

import httpx
import pytest

from ..openai_server import OpenAIServer, Stream, Wait, chunk, text
from ..servers import fill, serve
from ..sse import parse
from .reader import Reader

pytestmark = pytest.mark.servers

ANSWER = "\n".join(
    [
        "Parcels leave on Friday at six [1], and the gate opens at five then [1].",
        "",
        *(f"- Point {n}: a parcel of {n} kilograms needs its label [2]." for n in range(1, 16)),
        "",
        "| Day | Hour |",
        "| --- | --- |",
        *(f"| Day {n} | {n} o'clock [1] |" for n in range(1, 12)),
        "",
        "```",
        *(f"print({n})  # [1]" for n in range(1, 12)),
        "```",
        "",
        "No ship sails [19]. " + "The gate is green, and open to all who come. " * 12,
    ]
)
CUTS = 200
READERS = 5


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("site") / "site.sqlite3"
    fill(path)
    return path


@pytest.fixture
def model():
    with OpenAIServer(text(ANSWER, delay_seconds=0.05)) as server:
        yield server


@pytest.fixture
def sites(database, model):
    with (
        serve("uvicorn", database, model.base_url) as writes,
        serve("uvicorn", database, model.base_url) as other,
    ):
        yield writes, other


def rows(database, sql, *values):
    with closing(sqlite3.connect(database)) as connection, connection:
        return connection.execute(sql, values).fetchall()


def frames_within(site, run, last_seen, *, size, seconds):
    """Connect, receive at most ``size`` bytes for some ``seconds``, and cut; whole frames count.

    ``None`` when the server says that all has been delivered.
    """
    headers = {"Last-Event-ID": str(last_seen)} if last_seen else {}
    received = b""
    with httpx.Client(base_url=site.base_url, timeout=httpx.Timeout(20, read=seconds)) as client:
        try:
            with client.stream("GET", f"/ai-answers/runs/{run}/events", headers=headers) as answer:
                if answer.status_code == 204:
                    return None
                assert answer.status_code == 200
                until = time.monotonic() + seconds
                for piece in answer.iter_raw(64):
                    received += piece
                    if len(received) >= size or time.monotonic() > until:
                        break
        except httpx.ReadTimeout:
            pass  # cut while nothing was coming
    whole, _, _ = received[:size].decode(errors="ignore").rpartition("\n\n")
    return list(parse([*whole.split("\n"), ""])) if whole else []


def read_with_cuts(sites, run, *, cuts, seed, results):
    """Read the run to its end over and over, cut at random, until there were enough cuts."""
    chance = random.Random(seed)
    reader, made = Reader(), 0
    while made < cuts or reader.last is None:
        if reader.last is not None:
            reader = Reader()
        site = chance.choice(sites)
        size = int(10 ** chance.uniform(1.5, 4.5))
        frames = frames_within(site, run, reader.last_id, size=size, seconds=chance.uniform(0.1, 1))
        assert frames is not None, "delivered, but the last frame was not seen"
        made += 1
        for frame in frames:
            reader.take(frame)
        results["made"].append(site)
    # What it has seen is all there is, whichever process is asked.
    assert [frames_within(s, run, reader.last_id, size=9, seconds=5) for s in sites] == [None, None]
    results["readers"].append(reader)


@pytest.mark.parametrize("format", ["markdown", "html"])
def test_a_run_is_read_through_200_random_cuts_without_gap_repeat_or_fault(sites, model, format):
    """Design 5: resumed on the same and on another process, by Last-Event-ID and the database."""
    results = {"made": [], "readers": []}
    whole = Reader()
    with sites[0].ask(format=format) as (_, stream):
        turn = next(stream)
        whole.take(turn)
        threads = [
            threading.Thread(
                target=read_with_cuts,
                args=(sites, turn.data["run"]),
                kwargs={"cuts": CUTS // READERS, "seed": seed, "results": results},
            )
            for seed in range(READERS)
        ]
        for thread in threads:
            thread.start()
        for frame in stream:
            whole.take(frame)
        for thread in threads:
            thread.join(120)
    assert len(results["readers"]) == READERS, "a reader has met a fault; see its traceback"
    assert len(results["made"]) >= CUTS and set(map(id, results["made"])) == set(map(id, sites))
    assert whole.last.kind == "done" and whole.last.data["outcome"] == "answered"
    for reader in results["readers"]:
        assert reader.last == whole.last
        assert reader.text == whole.text
        assert reader.page.html() == whole.page.html()
        assert reader.known == whole.known
    if format == "markdown":
        assert whole.text == whole.last.data["text"]
    assert len(model.requests) == 1


@pytest.mark.parametrize("by", [0, 1], ids=["the process that writes", "another process"])
def test_stop_cancels_the_models_request_within_a_second(sites, model, database, by):
    """Design 5: seen at the model's side; text and references are kept."""
    model.replies[:] = [Stream(steps=[chunk(content="On Friday [1]. And "), Wait(seconds=60)])]
    took = []
    for _ in range(5):
        reader, run = Reader(), ""
        with sites[0].ask() as (_, stream):
            for frame in stream:
                reader.take(frame)
                run = frame.data.get("run") or run
                if frame.kind == "token":
                    break
            asked_at = time.monotonic()
            assert sites[by].post(f"runs/{run}/stop").json() == {"status": "stopping"}
            for frame in stream:
                reader.take(frame)
        assert model.gone.wait(5)
        model.gone.clear()
        took.append(model.requests[-1].disconnected_at - asked_at)
        assert reader.last.kind == "stopped"
        assert reader.last.data["text"] == reader.text == "On Friday[1]. And "
        assert [r["index"] for r in reader.last.data["references"]] == [1]
        outcome = "select t.outcome, t.answer from ai_answers_turn t join ai_answers_run r"
        saved = rows(
            database, f"{outcome} on r.turn_id = t.id where r.id = ?", run.replace("-", "")
        )
        assert saved == [("stopped", reader.text)]
    assert statistics.median(took) < 1, took


def test_the_runs_of_a_killed_process_are_swept_with_what_they_have_written(database, model):
    """No reader is needed for it: another process's next run is enough."""
    model.replies[:] = [
        Stream(steps=[chunk(content="On Friday [1]. And then"), Wait(seconds=60)]),
        text("At six [1]."),
    ]
    with serve("uvicorn", database, model.base_url) as other:
        with serve("uvicorn", database, model.base_url) as killed, killed.ask() as (_, stream):
            run = next(stream).data["run"]
            reader = Reader()
            with other.resume(run, 0) as (_, snapshots):
                while "then" not in reader.text:
                    reader.take(next(snapshots))
            os.killpg(killed.process.pid, signal.SIGKILL)
            killed.process.wait()
        key = run.replace("-", "")
        # Instead of waiting for half a minute.
        rows(
            database,
            "update ai_answers_run set heartbeat_at = datetime('now', '-1 hour') where id = ?",
            key,
        )
        with other.ask("Another question?") as (_, stream):
            assert list(stream)[-1].kind == "done"
        sql = (
            'select r.status, t.outcome, t.answer, t."references" from ai_answers_run r '
            "join ai_answers_turn t on r.turn_id = t.id where r.id = ?"
        )
        ((status, outcome, answer, references),) = rows(database, sql, key)
        assert (status, outcome, answer) == ("ended", "interrupted", reader.text)
        assert '"index": 1' in references
        with other.resume(run, reader.last_id) as (_, stream):
            for frame in stream:
                reader.take(frame)
    assert reader.last.kind == "error" and reader.last.data["code"] == "interrupted"
