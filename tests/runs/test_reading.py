"""Both doors to a run: how they wait, and what a reader costs that does not take what it gets."""

import asyncio
import gc
import threading
import time
import tracemalloc
import uuid

import pytest
from django.contrib.auth.models import AnonymousUser

from ai_answers.runs import live
from ai_answers.runs.log import MAX_PENDING, EventLog
from ai_answers.runs.reading import aframes, frames
from ai_answers.values import Asker, Frame

ASKER = Asker(user=AnonymousUser(), language="en")


class Writing:
    """A run of this process whose frames the test writes itself."""

    def __init__(self):
        self.text = ""
        self.log = EventLog(lambda: {"text": self.text})
        self.id = uuid.uuid4()
        live.add(live.LiveRun(id=self.id, pipeline=None, log=self.log))

    def write(self, text):
        with self.log.step():
            self.text += text
            self.log.append(Frame(kind="token", data={"text": text}))

    def end(self):
        self.log.append(Frame(kind="done", data={"text": self.text}))


class AsyncDoor:
    """``aframes``, read one by one on a loop of its own."""

    def __init__(self, run_id, **seen):
        self.loop = asyncio.new_event_loop()
        self.entries = aframes(run_id, ASKER, **seen)

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self.loop.run_until_complete(anext(self.entries))
        except StopAsyncIteration:
            raise StopIteration from None

    def close(self):
        if not self.loop.is_closed():
            self.loop.run_until_complete(self.entries.aclose())
            self.loop.close()


def sync_door(run_id, **seen):
    return frames(run_id, ASKER, **seen)


@pytest.fixture(params=[sync_door, AsyncDoor], ids=["WSGI", "ASGI"])
def door(request):
    opened = []

    def open_door(run_id, **seen):
        opened.append(request.param(run_id, **seen))
        return opened[-1]

    yield open_door
    for reader in opened:
        reader.close()


@pytest.fixture
def run():
    writing = Writing()
    yield writing
    live.find(writing.id).ended_at = float("-inf")
    live.forget_ended(older_than=0)


def test_a_reader_that_falls_behind_gets_a_snapshot_in_place_of_what_it_missed(run, door):
    """Design 5: it is not waited for, and the text it ends with is whole."""
    run.write("first ")
    reader = door(run.id)
    assert next(reader).frame.data == {"text": "first "}
    for number in range(MAX_PENDING + 50):
        run.write(f"{number} ")
    run.end()
    rest = list(reader)
    assert [entry.frame.kind for entry in rest] == ["snapshot", "done"]
    assert rest[0].frame.data["text"] == run.text == rest[1].frame.data["text"]
    assert rest[0].id == rest[1].id - 1 == MAX_PENDING + 51


def test_a_reader_that_is_a_little_behind_gets_every_frame(run, door):
    run.write("first ")
    reader = door(run.id, last_seen=0)
    seen = [next(reader)]
    for number in range(MAX_PENDING - 1):
        run.write(f"{number} ")
    run.end()
    seen += list(reader)
    assert [entry.id for entry in seen] == list(range(1, MAX_PENDING + 2))


def test_readers_that_take_nothing_cost_next_to_nothing(run, door):
    """What they miss is kept once, in the log, however many they are."""
    run.write("first ")
    readers = [door(run.id) for _ in range(100)]
    for reader in readers:
        next(reader)
    tracemalloc.start()
    for number in range(MAX_PENDING + 50):
        run.write(f"{number} " + "x" * 250)
    gc.collect()
    behind, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(run.text) > 60_000
    # One copy of the frames; a hundred would be six million bytes.
    assert behind < 1_000_000, behind
    run.end()
    assert all([e.frame.kind for e in reader] == ["snapshot", "done"] for reader in readers)


def test_news_is_read_at_once_and_quiet_is_filled_with_heartbeats(run, door, settings):
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"HEARTBEAT_SECONDS": 0.3}
    reader = door(run.id)
    began = time.monotonic()
    assert next(reader) is None and next(reader) is None
    assert 0.6 <= time.monotonic() - began < 5
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"HEARTBEAT_SECONDS": 60}
    patient = door(run.id)
    threading.Timer(0.2, run.write, ["news"]).start()
    began = time.monotonic()
    assert next(patient).frame.data == {"text": "news"}
    assert time.monotonic() - began < 10


def test_a_reader_that_leaves_is_forgotten(run, door):
    reader = door(run.id)
    run.write("first ")
    next(reader)
    assert run.log.has_readers
    reader.close()
    assert not run.log.has_readers


def test_a_readers_loop_that_is_closed_on_it_does_not_harm_the_writer(run):
    reader = AsyncDoor(run.id)
    run.write("first ")
    next(reader)
    reader.loop.close()
    run.write("second ")
    assert run.log.last_id == 2
