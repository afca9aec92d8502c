"""Calling services that fail now and then: when to try again, and when to leave one alone.

In: a call. Out: its result, or its last error. No Django; test it with functions that raise.
Vendors' errors are told apart by status and name, so none of their packages is imported.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

TRIES = 6
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
REST_SECONDS = 15.0
"""How long a service that failed is left alone by those who cannot wait."""

TEMPORARY_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
TEMPORARY_NAMES = frozenset({"APIConnectionError", "TransportError", "ConnectionError", "Timeout"})


def with_retries(
    call: Callable[[], T], *, tries: int = TRIES, sleep: Callable[[float], Any] = time.sleep
) -> T:
    """Call until it works, at most ``tries`` times; pauses double, with some chance in them.

    Only what may pass is tried again (see ``is_temporary``); a ``Retry-After`` is kept to.
    """
    pause = FIRST_PAUSE_SECONDS
    for left in range(tries - 1, -1, -1):
        try:
            return call()
        except Exception as error:
            if not left or not is_temporary(error):
                raise
            asked = retry_after(error)
        sleep(min(max(pause * random.uniform(0.75, 1.25), asked), LONGEST_PAUSE_SECONDS))  # noqa: S311
        pause *= 2
    raise AssertionError("unreachable")


def is_temporary(error: BaseException) -> bool:
    """Return whether the same call may work later: no connection, too busy, too slow."""
    status = _status(error)
    if status is not None:
        return status in TEMPORARY_STATUS
    if isinstance(error, (ConnectionError, TimeoutError)):
        return True
    return any(base.__name__ in TEMPORARY_NAMES for base in type(error).__mro__)


def retry_after(error: BaseException) -> float:
    """Return the seconds the service asked for; 0 when it did not."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return max(float(headers.get("retry-after") or 0), 0.0)
    except (TypeError, ValueError):
        return 0.0


def _status(error: BaseException) -> int | None:
    for source in (error, getattr(error, "response", None)):
        for name in ("status_code", "status", "code"):
            value = getattr(source, name, None)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return None


class Resting(Exception):
    """The service has failed just now and is left alone for some seconds."""


class Rest:
    """Which services are left alone, by name. Shared by threads."""

    def __init__(self, *, seconds: float = REST_SECONDS) -> None:
        self._seconds = seconds
        self._until: dict[str, float] = {}
        self._lock = threading.Lock()

    def check(self, name: str) -> None:
        """Raise ``Resting`` while ``name`` is left alone."""
        with self._lock:
            if time.monotonic() < self._until.get(name, 0.0):
                raise Resting(f"{name} failed less than {self._seconds:.0f} s ago.")

    def failed(self, name: str) -> None:
        with self._lock:
            self._until[name] = time.monotonic() + self._seconds

    def forget(self) -> None:
        """Ask all again; for tests and shells."""
        with self._lock:
            self._until.clear()
