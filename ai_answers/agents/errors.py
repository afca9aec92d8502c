"""Turn whatever a chat model raised into one of this app's errors with a stable code.

In: an exception of any vendor. Out: ``ModelFailed`` or ``ModelTimeout``. Vendors are not
imported: HTTP status, error code and class names tell enough. The message names these only,
because a vendor's own text may repeat the question or a key.
"""

from __future__ import annotations

import contextlib
import re
import time
from email.utils import parsedate_to_datetime
from typing import Any

from ..exceptions import ModelFailed, ModelTimeout, RunFailed

MODEL_CODES = {
    "model_unreachable": True,
    "model_auth": False,
    "model_not_found": False,
    "model_rate_limited": True,
    "model_overloaded": True,
    "model_failed": True,
    "content_filter": False,
    "context_overflow": False,
}
"""Code → whether asking again may help. Timeouts have ``model_timeout``."""

_BY_STATUS = {
    401: "model_auth",
    402: "model_auth",
    403: "model_auth",
    404: "model_not_found",
    413: "context_overflow",
    429: "model_rate_limited",
}
_BY_VENDOR_CODE = {
    "insufficient_quota": "model_auth",  # a 429 that no waiting mends
    "rate_limit": "model_rate_limited",
    "overloaded": "model_overloaded",
    "server_error": "model_overloaded",
}
"""Part of a vendor's own code → ours; errors in the middle of a stream have no status."""
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{1,59}")
_OVERFLOW_SIGNS = (
    "context_length_exceeded",
    "context length",
    "context window",
    "prompt is too long",
    "exceed_context_size",
)
_CONNECTION_NAMES = ("Connection", "Connect", "ProtocolError", "ReadError", "NetworkError")


def failed(code: str, message: str) -> ModelFailed:
    """Return a ``ModelFailed`` with one of ``MODEL_CODES``."""
    error = ModelFailed(message)
    error.code = code
    error.retryable = MODEL_CODES[code]
    return error


def model_error(error: BaseException) -> RunFailed:
    """Return the error to raise instead of ``error``, which a chat model raised."""
    if isinstance(error, RunFailed):
        return error
    status, vendor_code = _status(error), _vendor_code(error)
    said = f"The chat model failed: {type(error).__name__}"
    said += f", status {status}" if status else ""
    said += f", code {vendor_code!r}." if _IDENTIFIER.fullmatch(vendor_code) else "."
    names = [kind.__name__ for kind in type(error).__mro__]
    if status in (408, 504) or any("Timeout" in name for name in names):
        return ModelTimeout(said)
    ours = failed(_code(error, status, vendor_code.lower(), names), said)
    ours.retry_after = _retry_after(error)
    return ours


def _code(error: BaseException, status: int | None, vendor_code: str, names: list[str]) -> str:
    signs = f"{vendor_code} {error}".lower()
    if "ContextOverflowError" in names or (
        status in (None, 400, 413, 422) and any(sign in signs for sign in _OVERFLOW_SIGNS)
    ):
        return "context_overflow"
    if "content_filter" in signs or "ModelRefusalError" in names:
        return "content_filter"
    if status in (None, 429):
        for sign, code in _BY_VENDOR_CODE.items():
            if sign in vendor_code:
                return code
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status is not None and status >= 500:
        return "model_overloaded"
    if status is None and (
        isinstance(error, OSError)
        or any(sign in name for name in names for sign in _CONNECTION_NAMES)
    ):
        return "model_unreachable"
    return "model_failed"


def _status(error: Any) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "status", "http_status"):
            status = getattr(holder, name, None)
            if isinstance(status, int) and 100 <= status <= 599:
                return status
    return None


def _vendor_code(error: Any) -> str:
    """Return the code or type that the vendor's answer gives the error; empty when none."""
    body = getattr(error, "body", None)
    body = body.get("error", body) if isinstance(body, dict) else None
    inner = body if isinstance(body, dict) else {}
    found = getattr(error, "code", None) or inner.get("code") or inner.get("type")
    return found if isinstance(found, str) else ""


def _retry_after(error: Any) -> float | None:
    """Return the seconds a ``Retry-After`` header asks for: a number or a date."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    with contextlib.suppress(AttributeError, TypeError, ValueError):
        if given := headers.get("retry-after-ms"):
            return max(float(given) / 1000, 0)
        given = headers.get("retry-after") or ""
        with contextlib.suppress(ValueError):
            return max(float(given), 0)
        return max(parsedate_to_datetime(given).timestamp() - time.time(), 0)
    return None
