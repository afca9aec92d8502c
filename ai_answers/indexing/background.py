"""Making vectors behind a saved object, off the request that saved it.

One daemon thread a process, started with the first object and fed by a queue. What it has not
done when the process ends is not lost: such documents stay marked as lacking vectors, are found
by their words, and the next ``ai_answers_index`` completes them.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections.abc import Sequence

from django.db import connections

from ..sources import get_source
from .running import index_objects

logger = logging.getLogger(__name__)

_queues: dict[int, queue.SimpleQueue] = {}
_lock = threading.Lock()


def complete_later(entity_type: str, ids: Sequence[str]) -> None:
    """Have the vectors of some objects made soon."""
    with _lock:
        waiting = _queues.get(os.getpid())  # a forked worker has the queue, but not the thread
        if waiting is None:
            waiting = _queues[os.getpid()] = queue.SimpleQueue()
            threading.Thread(
                target=_work, args=(waiting,), name="ai_answers-vectors", daemon=True
            ).start()
    waiting.put((entity_type, list(ids)))


def wait_until_complete(*, timeout_seconds: float) -> bool:
    """Wait for all that was handed over before; for tests and scripts. False: time is up."""
    waiting = _queues.get(os.getpid())
    if waiting is None:
        return True
    reached = threading.Event()
    waiting.put(reached)
    return reached.wait(timeout_seconds)


def _work(waiting: queue.SimpleQueue) -> None:
    while True:
        item = waiting.get()
        if isinstance(item, threading.Event):
            item.set()
            continue
        entity_type, ids = item
        try:
            if source := get_source(entity_type):
                index_objects(source, ids)
        except Exception:
            logger.exception("No vectors for %d objects of %s yet.", len(ids), entity_type)
        finally:
            connections.close_all()
