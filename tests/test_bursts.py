import asyncio
import subprocess
import sys
import threading

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, connections, transaction
from django.utils import translation

from ai_answers.bursts import (
    MOST_LEFT_BEHIND,
    THREADS,
    ThreadsHang,
    burst,
    contained,
    inline,
    receiver_burst,
    search_burst,
    site_burst,
)


def test_a_burst_runs_elsewhere_in_the_callers_context():
    async def main():
        with translation.override("de"):
            return await burst(lambda: (translation.get_language(), threading.get_ident()))

    language, thread = asyncio.run(main())
    assert language == "de" and thread != threading.get_ident()


@pytest.mark.django_db(transaction=True)
def test_a_burst_leaves_no_connection_open():
    seen = []

    def work():
        User.objects.count()
        seen.append(connections["default"])

    asyncio.run(burst(work))
    assert seen[0].connection is None


def test_hanging_site_code_cannot_take_the_apps_own_threads():
    async def main():
        release = threading.Event()
        hanging = [asyncio.ensure_future(site_burst(release.wait, 10)) for _ in range(12)]
        assert await asyncio.wait_for(burst(lambda: "saved"), 5) == "saved"
        release.set()
        await asyncio.gather(*hanging)

    asyncio.run(main())


@pytest.mark.django_db
def test_inline_shares_the_callers_connection_and_transaction():
    User.objects.create_user("uncommitted")

    async def main():
        return await burst(lambda: (User.objects.count(), connection.in_atomic_block))

    with inline():
        assert async_to_sync(main)() == (1, True)


@pytest.fixture
def release():
    """Let everything that waits for it go on when the test ends."""
    event = threading.Event()
    yield event
    event.set()


async def give_up_on(kind, function, *, calls):
    """Wait for each of ``calls`` until it has begun, then no longer."""
    for _ in range(calls):
        begun = threading.Event()

        def work(begun=begun):
            begun.set()
            function()

        task = asyncio.ensure_future(kind(work))
        while not begun.is_set():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_each_kind_of_site_code_has_threads_of_its_own(release):
    async def main():
        hanging = [asyncio.ensure_future(site_burst(release.wait, 20)) for _ in range(THREADS)]
        for kind in (search_burst, receiver_burst, burst):
            assert await asyncio.wait_for(kind(lambda: "done"), 5) == "done"
        release.set()
        await asyncio.gather(*hanging)

    asyncio.run(main())


def test_threads_that_hang_are_made_up_for_also_for_calls_already_waiting(release, caplog):
    async def main():
        await give_up_on(site_burst, release.wait, calls=THREADS - 1)
        last = asyncio.ensure_future(site_burst(release.wait, 20))
        await asyncio.sleep(0.05)
        waiting = [asyncio.ensure_future(site_burst(lambda: "done")) for _ in range(5)]
        await asyncio.sleep(0.05)
        assert not any(task.done() for task in waiting)
        last.cancel()
        assert await asyncio.wait_for(asyncio.gather(*waiting), 5) == ["done"] * 5
        assert await asyncio.wait_for(site_burst(lambda: "new"), 5) == "new"
        release.set()

    asyncio.run(main())
    assert "hang" in caplog.text


def test_a_cancelled_call_that_had_not_begun_never_runs(release):
    ran = []

    async def main():
        hanging = [asyncio.ensure_future(site_burst(release.wait, 20)) for _ in range(THREADS)]
        await asyncio.sleep(0.05)
        waiting = asyncio.ensure_future(site_burst(ran.append, 1))
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        release.set()
        await asyncio.gather(*hanging)
        assert await site_burst(lambda: "done") == "done"

    asyncio.run(main())
    assert ran == []


def test_too_many_that_hang_are_refused_until_some_come_back(release, caplog):
    async def main():
        await give_up_on(search_burst, release.wait, calls=MOST_LEFT_BEHIND)
        with pytest.raises(ThreadsHang, match=f"{MOST_LEFT_BEHIND} threads for searches"):
            await search_burst(lambda: "refused")
        assert await site_burst(lambda: "other kinds go on") == "other kinds go on"
        release.set()
        for _ in range(500):
            try:
                return await search_burst(lambda: "back")
            except ThreadsHang:
                await asyncio.sleep(0.01)

    assert asyncio.run(main()) == "back"
    assert caplog.text.count("refused") == 1


@pytest.mark.parametrize(
    "error", [SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration, asyncio.CancelledError]
)
def test_sync_code_cannot_end_the_process_or_pass_for_a_stop(error):
    def leave():
        raise error

    async def main():
        with pytest.raises(RuntimeError, match=error.__name__) as caught:
            await asyncio.wait_for(site_burst(leave), 5)
        return caught.value.__cause__

    assert isinstance(asyncio.run(main()), error)


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_async_code_cannot_end_the_process_or_pass_for_a_stop(error):
    async def leave():
        raise error

    async def main():
        with pytest.raises(RuntimeError, match=error.__name__):
            await contained(leave())

    asyncio.run(main())


def test_a_real_stop_passes_through():
    async def main():
        task = asyncio.ensure_future(contained(asyncio.sleep(10)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


@pytest.mark.django_db
def test_inline_an_error_of_the_database_leaves_the_tests_transaction_usable():
    User.objects.create_user("taken")
    committed = []

    def break_it():
        transaction.on_commit(lambda: committed.append("broken"))
        User.objects.create_user("half")
        User.objects.create_user("taken")

    def durable():
        with transaction.atomic(durable=True):
            return User.objects.create_user("fine")

    async def main():
        with pytest.raises(IntegrityError):
            await site_burst(break_it)
        await burst(durable)

    with inline():
        async_to_sync(main)()
    assert set(User.objects.values_list("username", flat=True)) == {"taken", "fine"}


LEAVING = """
import asyncio, atexit, threading, time
from django.conf import settings
settings.configure(DATABASES={})
from ai_answers.bursts import burst

def serve():
    async def work():
        while True:
            try:
                await burst(int)
            except BaseException as error:
                print(type(error).__name__, error, isinstance(error, RuntimeError), flush=True)
                return
    asyncio.run(work())

atexit.register(time.sleep, 1)
threading.Thread(target=serve, daemon=True).start()
time.sleep(0.3)
"""


def test_a_burst_while_the_process_ends_raises_one_known_error():
    ran = subprocess.run(
        [sys.executable, "-c", LEAVING], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.split()[0] == "ShuttingDown" and ran.stdout.strip().endswith("True")
    assert ran.stderr == ""
