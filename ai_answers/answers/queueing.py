"""Open and close turns in a transaction for which the writers of this process queue.

SQLite lets one write at a time, and who waits asks again and again until its ``timeout``: the
lock is not fair, and of many writers some starve (three of sixteen did within 20 seconds on a busy
machine). So the threads of a process take turns before they ask the database. Other databases
need no queue and get none.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from django.db import connection, transaction

# A receiver of the site that runs at the commit may itself open a turn.
_queue = threading.RLock()


@contextmanager
def turn_transaction() -> Iterator[None]:
    """Be inside ``transaction.atomic()``, behind whoever came first.

    Inside a caller's transaction nobody queues: it has the database's lock already.
    """
    queues = connection.vendor == "sqlite" and not connection.in_atomic_block
    with _queue if queues else nullcontext(), transaction.atomic():
        yield


def _forget() -> None:
    global _queue
    _queue = threading.RLock()  # a thread of the parent may have held it


if hasattr(os, "register_at_fork"):  # not on Windows, which never forks
    os.register_at_fork(after_in_child=_forget)
