"""Turn whatever a chat model raised into one of this app's errors with a stable code.

In: an exception of any vendor. Out: ``ModelFailed`` or ``ModelTimeout``. Vendors are not
imported: HTTP status, error code and class names tell enough. The message names kind and status
only, because a vendor's own text may repeat the question or a key.
"""

from __future__ import annotations

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
    status = _status(error)
    said = f"The chat model failed: {type(error).__name__}" + (
        f", status {status}." if status else "."
    )
    names = [kind.__name__ for kind in type(error).__mro__]
    if status in (408, 504) or any("Timeout" in name for name in names):
        return ModelTimeout(said)
    return failed(_code(error, status, names), said)


def _code(error: BaseException, status: int | None, names: list[str]) -> str:
    signs = f"{_vendor_code(error)} {error}".lower()
    if "ContextOverflowError" in names or (
        status in (None, 400, 413, 422) and any(sign in signs for sign in _OVERFLOW_SIGNS)
    ):
        return "context_overflow"
    if "content_filter" in signs or "ModelRefusalError" in names:
        return "content_filter"
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
    body = getattr(error, "body", None)
    body = body.get("error", body) if isinstance(body, dict) else {}
    inner = body if isinstance(body, dict) else {}
    return f"{getattr(error, 'code', '')} {inner.get('code', '')} {inner.get('type', '')}"
