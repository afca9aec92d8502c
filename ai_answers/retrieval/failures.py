"""What an error of a service means: whether the same call may work later, or another one now.

In: an exception of any vendor's package. Out: yes or no, seconds. Errors are told apart by status
and name, so none of those packages is imported; an error that wraps another counts as what it
wraps. No Django; test it with errors made up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

TEMPORARY_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
INPUT_STATUS = frozenset({400, 413, 422})
TEMPORARY_NAMES = frozenset(
    {
        "APIConnectionError",
        "ClientConnectionError",
        "ConnectionError",
        "HTTPClientError",
        "Timeout",
        "TransportError",
        "URLError",
    }
)
LASTING_NAMES = frozenset({"SSLCertVerificationError", "UnsupportedProtocol", "InvalidURL"})
LASTING_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""What a 429 says when waiting will not help."""
DEEPEST = 5
"""Errors looked at: one, and those it wraps."""


def is_temporary(error: BaseException) -> bool:
    """Return whether the same call may work later: no connection, too busy, too slow."""
    found = False
    for cause in _causes(error):
        names = {base.__name__ for base in type(cause).__mro__}
        code = getattr(cause, "code", None)
        if names & LASTING_NAMES or (isinstance(code, str) and code in LASTING_CODES):
            return False
        status = _status(cause)
        if status is not None:
            return status in TEMPORARY_STATUS
        is_known = isinstance(cause, (ConnectionError, TimeoutError))
        found = found or is_known or bool(names & TEMPORARY_NAMES)
    return found


def is_about_input(error: BaseException) -> bool:
    """Return whether the service refused what it was given, and so may take something else."""
    return next(filter(None, map(_status, _causes(error))), None) in INPUT_STATUS


def retry_after(error: BaseException) -> float:
    """Return the seconds the service asked for; 0 when it did not."""
    for cause in _causes(error):
        response = getattr(cause, "response", None)
        headers = getattr(response, "headers", None) or getattr(cause, "headers", None)
        if hasattr(headers, "get"):
            asked = headers.get("retry-after") or headers.get("Retry-After")
            if asked:
                return _seconds(str(asked))
    return 0.0


def _seconds(asked: str) -> float:
    """Read the two forms of ``Retry-After``; 0 for anything else."""
    try:
        found = float(asked)
    except ValueError:
        try:
            moment = parsedate_to_datetime(asked)
        except ValueError:
            return 0.0
        found = (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(found, 0.0) if found < float("inf") else 0.0


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and what it wraps, nearest first."""
    cause: Any = error
    for _ in range(DEEPEST):
        if not isinstance(cause, BaseException):
            return
        yield cause
        reason = getattr(cause, "reason", None)  # urllib's
        cause = cause.__cause__ or cause.__context__ or reason


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):  # botocore's
        metadata = response.get("ResponseMetadata")
        status = metadata.get("HTTPStatusCode") if isinstance(metadata, Mapping) else None
        return status if isinstance(status, int) else None
    for source in (error, response):
        for name in ("status_code", "status", "code"):
            value = getattr(source, name, None)
            if isinstance(value, int) and not isinstance(value, bool):
                return int(value)
    return None
