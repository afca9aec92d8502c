"""What streaming costs: ``python -m tests.benchmarks.bench_streaming [tokens|first|open]``.

tokens  CPU of the whole path (question to done) over bare ``ChatOpenAI.astream`` of the same
        stream; both in this process, the model's server in another. Bar: ≤ 1.3.
first   POST to first frame, and from the model's first chunk to the first text frame.
        Bars: ≤ 10 / 25 ms p50 / p95, and ≤ 5 ms p50.
open    many open streams on one loop, paced scripted models. Bars: all complete, gap p95
        < 250 ms, < 100 KB each, no database connection held.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

TOKENS = 1_000
ANSWER = " ".join(
    f"word{n}" + (f" [{n // 50 % 2 + 1}]." if n % 50 == 49 else "") for n in range(TOKENS)
)


def main() -> None:
    wanted = sys.argv[1:] or ["tokens", "first", "open"]
    model, url = start_model()
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "tests.server_settings",
        "SITE_DATABASE": str(Path(tempfile.mkdtemp()) / "site.sqlite3"),
        "SITE_MODEL_URL": url,
    }
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    settings.ALLOWED_HOSTS = ["*"]
    call_command("fill_site")
    try:
        for name in wanted:
            {"tokens": tokens, "first": first, "open": many}[name](url)
    finally:
        model.terminate()


def start_model() -> tuple[multiprocessing.Process, str]:
    """Start the model's server in a process of its own, so that its CPU does not count."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=serve_model, args=(theirs,), daemon=True
    )
    process.start()
    return process, ours.recv()


def serve_model(pipe) -> None:
    from tests.openai_server import OpenAIServer, text

    with OpenAIServer(text(ANSWER)) as server:
        pipe.send(server.base_url)
        while True:
            time.sleep(60)


def ask(**fields):
    """Ask through the API and return its frames with their times (seconds since POST)."""
    from django.test import Client

    from tests.sse import parse

    body = {"agent": "depot", "question": "When do parcels leave the depot?"} | fields
    began = time.perf_counter()
    response = Client().post(
        "/ai-answers/question",
        body,
        content_type="application/json",
        headers={"Accept": "text/event-stream"},
    )
    frames, times = [], []
    for piece in response.streaming_content:
        for frame in parse(piece.decode().split("\n")):
            frames.append(frame)
            times.append(time.perf_counter() - began)
    assert frames[-1].kind == "done", frames[-1]
    return frames, times


def tokens(url: str) -> None:
    from langchain_openai import ChatOpenAI

    loop = asyncio.new_event_loop()
    model = ChatOpenAI(model="local", base_url=url, api_key="none", stream_usage=True)

    async def bare() -> None:
        for _ in range(runs):
            async for _chunk in model.astream("When?"):
                pass

    runs = 5
    loop.run_until_complete(bare())  # imports and connections
    for format in ("markdown", "html"):
        ask(format=format)
        ratios = []
        for _ in range(3):
            began = time.process_time()
            loop.run_until_complete(bare())
            middle = time.process_time()
            for _ in range(runs):
                ask(format=format)
            ratios.append((time.process_time() - middle) / (middle - began))
        print(f"CPU per token, {format}: {statistics.median(ratios):.2f} × bare  {ratios}")


def first(url: str) -> None:
    first_frames, first_texts = [], []
    for _ in range(60):
        frames, times = ask()
        first_frames.append(times[0])
        reading = next(t for f, t in zip(frames, times, strict=True) if f.kind == "references")
        text = next(t for f, t in zip(frames, times, strict=True) if f.kind == "token")
        first_texts.append(text - reading)
    cuts = statistics.quantiles(first_frames, n=20)
    print(f"POST to first frame: p50 {cuts[9] * 1000:.1f} ms, p95 {cuts[18] * 1000:.1f} ms")
    # Holds the model's own answer time as well, so it is an upper bound.
    print(f"references to first text: p50 {statistics.median(first_texts) * 1000:.1f} ms")


def many(url: str) -> None:
    """1,000 runs with paced scripted models and a reader each, all in this process."""
    from django.conf import settings
    from django.contrib.auth.models import AnonymousUser
    from django.db import connections

    from ai_answers.answers.conversations import Question, open_turn
    from ai_answers.chat_models.scripted import Reply, scripted
    from ai_answers.models import Agent
    from ai_answers.runs.reading import aframes
    from ai_answers.runs.runner import get_runner
    from ai_answers.values import Asker

    count = int(os.environ.get("STREAMS", 1000))
    settings.AI_ANSWERS |= {
        "CHAT_MODELS": {
            "default": {"BACKEND": "ai_answers.chat_models.scripted.ScriptedChatModel"}
        },
        "BUDGETS": {"site": {}, "agent": {}, "visitor": {}},
        "RUN_SECONDS": 600,
        "FIRST_CONTENT_SECONDS": 600,
    }
    Agent.objects.update(chat_model="default")
    words = [f"word{n} " for n in range(600)]
    reply = Reply(deltas=words, delay_seconds=1 / 30)
    gaps: list[float] = []
    asker = Asker(user=AnonymousUser(), language="en")

    async def read(run_id) -> bool:
        last = None
        async for entry in aframes(run_id, asker):
            if entry is None:
                continue
            now = time.monotonic()
            if entry.frame.kind == "token":
                if last is not None:
                    gaps.append(now - last)
                last = now
            if entry.frame.is_last:
                return entry.frame.kind == "done"
        return False

    async def read_all(ids) -> list[bool]:
        return await asyncio.gather(*map(read, ids))

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with scripted(lambda messages: reply):
        ids = []
        for _ in range(count):
            spec = open_turn(
                Question(text="When do parcels leave the depot?", agent="depot"),
                asker,
                visitor="bench",
                payer="bench",
            )
            get_runner().start(spec)
            ids.append(spec.run_id)
        connections.close_all()
        done = asyncio.run(read_all(ids))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    gaps.sort()
    print(f"{sum(done)} of {count} streams complete")
    p50, p95 = gaps[len(gaps) // 2], gaps[len(gaps) * 95 // 100]
    print(f"gap p50 {p50 * 1000:.0f} ms, p95 {p95 * 1000:.0f} ms")
    print(f"memory {(after - before) / count:.0f} KB each")


if __name__ == "__main__":
    main()
