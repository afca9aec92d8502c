import asyncio
import threading

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.db import connection, connections
from django.utils import translation

from ai_answers.bursts import burst, inline, site_burst


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
