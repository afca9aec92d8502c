"""Calling services that fail now and then: when to try again, and when to leave one alone.

In: a call. Out: its result, or its last error. No Django; test it with functions that raise.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from .failures import is_temporary, retry_after

T = TypeVar("T")

TRIES = 6
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
TRYING_SECONDS = 180.0
"""Since the first try, after which no other is begun."""
REST_SECONDS = 15.0
"""How long a service that failed is left alone by those who cannot wait."""


def with_retries(
    call: Callable[[], T],
    *,
    tries: int = TRIES,
    seconds: float = TRYING_SECONDS,
    sleep: Callable[[float], Any] = time.sleep,
) -> T:
    """Call until it works, at most ``tries`` times; pauses double, with some chance in them.

    Only what may pass is tried again (see ``is_temporary``), and none is begun after
    ``seconds``. A ``Retry-After`` is kept to; one that asks for longer ends the trying.
    """
    pause, started = FIRST_PAUSE_SECONDS, time.monotonic()
    for left in range(tries - 1, -1, -1):
        try:
            return call()
        except Exception as error:
            own = min(pause * random.uniform(0.75, 1.25), LONGEST_PAUSE_SECONDS)  # noqa: S311
            wait = max(own, retry_after(error))
            is_late = time.monotonic() - started + wait > seconds
            if not left or is_late or not is_temporary(error):
                raise
        sleep(wait)
        pause *= 2
    raise AssertionError("unreachable")


class Resting(Exception):
    """The service has failed just now and is left alone for some seconds."""


@dataclass(slots=True)
class _Episode:
    """From a first failure until the service answers again."""

    since: float
    until: float


class Rest:
    """Which services are left alone, by name. Shared by threads."""

    def __init__(self, *, seconds: float = REST_SECONDS) -> None:
        self._seconds = seconds
        self._episodes: dict[str, _Episode] = {}
        self._lock = threading.Lock()

    def check(self, name: str, *, alone: bool = False) -> None:
        """Raise ``Resting`` while ``name`` is left alone.

        ``alone``: after a rest let one caller through and keep the others off until he has said
        ``worked`` or ``failed``, or for as long as a rest.
        """
        with self._lock:
            now, episode = time.monotonic(), self._episodes.get(name)
            if episode is None:
                return
            if now < episode.until:
                raise Resting(f"{name} failed less than {self._seconds:.0f} s ago.")
            if alone:
                episode.until = now + self._seconds

    def failed(self, name: str) -> bool:
        """Leave ``name`` alone from now on; return whether it worked before."""
        with self._lock:
            now = time.monotonic()
            is_first = name not in self._episodes
            since = now if is_first else self._episodes[name].since
            self._episodes[name] = _Episode(since, now + self._seconds)
            return is_first

    def worked(self, name: str) -> float:
        """Ask ``name`` as usual; return for how many seconds it had failed, 0 if it had not."""
        with self._lock:
            episode = self._episodes.pop(name, None)
            return time.monotonic() - episode.since if episode else 0.0

    def forget(self) -> None:
        """Ask all again; for tests and shells."""
        with self._lock:
            self._episodes.clear()
