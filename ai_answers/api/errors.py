"""Errors as clients see them: one JSON shape, fixed translated texts, stable codes.

``{"error": {"code": …, "message": …}}`` whatever was accepted. Details go to the log only; what
a client can mend (a bad field) is said in ``message``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, JsonResponse
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions

from ..exceptions import AnswersError, BudgetExhausted, ConfigurationError, InvalidQuestion, trace

logger = logging.getLogger(__name__)

NOT_NOW = _("Questions cannot be answered here at the moment.")
MESSAGES: Mapping[str, Any] = {
    "invalid": _("This question cannot be asked. Please check it and try again."),
    "too_large": _("This is too long. Please shorten it."),
    "csrf_failed": _("Your session could not be confirmed. Please reload the page."),
    "permission_denied": _("You may not ask questions here."),
    "not_found": _("There is nothing here, or it is not yours."),
    "method_not_allowed": _("This address does not take that method."),
    "unsupported_media_type": _("Send the body as application/json."),
    "agent_not_usable": NOT_NOW,
    "not_configured": NOT_NOW,
    "turn_in_progress": _("The last question is still being answered. Please wait."),
    "throttled": _("Too many questions in a short time. Please wait a little."),
    "busy": _("Many questions are being answered right now. Please try again in a moment."),
    "budget_exhausted": _("No more questions can be answered today. Please try again tomorrow."),
    "model_auth": NOT_NOW,
    "model_not_found": NOT_NOW,
    "model_timeout": _("The answer took too long. Please try again."),
    "model_rate_limited": _("Too many questions are being asked. Please try again in a minute."),
    "content_filter": _("This question cannot be answered here."),
    "context_overflow": _("This conversation is too long. Please start a new one."),
    "interrupted": _("The answer was interrupted. Please try again."),
}
FALLBACK = _("Something went wrong. Please try again later.")


def message_for(code: str) -> Any:
    """Return the fixed, translated text for ``code``."""
    return MESSAGES.get(code, FALLBACK)


def error_response(
    code: str, *, status: int, message: Any = None, retry_after: float | None = None
) -> JsonResponse:
    """Return the one JSON shape of all errors."""
    text = str(message or message_for(code))
    response = JsonResponse(
        {"error": {"code": code, "message": text}},
        status=status,
        json_dumps_params={"ensure_ascii": False},
    )
    response["Cache-Control"] = "no-store"
    if retry_after is not None:
        response["Retry-After"] = str(max(1, int(retry_after)))
    return response


def handle_exception(error: Exception, context: dict[str, Any]) -> JsonResponse:
    """DRF's exception handler for these views only; a site's own is not asked."""
    if isinstance(error, ConfigurationError) or not isinstance(
        error, AnswersError | exceptions.APIException | Http404 | PermissionDenied
    ):
        logger.error("A request failed: %s", trace(error))
        logger.debug("A request failed.", exc_info=error)
        return error_response("failed", status=500)
    if isinstance(error, AnswersError):
        logger.info("A request was refused: %s", error.code)
        logger.debug("A request was refused: %s", error)
        retry_after = error.retry_after if isinstance(error, BudgetExhausted) else None
        message = str(error) if isinstance(error, InvalidQuestion) else None
        return error_response(
            error.code, status=error.status, message=message, retry_after=retry_after
        )
    return _from_drf(error)


def _from_drf(error: Exception) -> JsonResponse:
    if isinstance(error, Http404):
        return error_response("not_found", status=404)
    if isinstance(error, PermissionDenied | exceptions.NotAuthenticated):
        return error_response("permission_denied", status=403)
    if isinstance(error, exceptions.Throttled):
        return error_response("throttled", status=429, retry_after=error.wait or 60)
    code = {400: "invalid", 401: "permission_denied", 403: "permission_denied"}.get(
        error.status_code, error.default_code
    )
    message = _first_detail(error.detail) if error.status_code == 400 else None
    response = error_response(code, status=error.status_code, message=message)
    if isinstance(error, exceptions.MethodNotAllowed):
        response["Allow"] = getattr(error, "allow", "")
    return response


def _first_detail(detail: Any, field: str = "") -> str:
    """Return one line for the first thing that is wrong: ``field: what``."""
    if isinstance(detail, Mapping):
        name, inner = next(iter(detail.items()))
        return _first_detail(inner, "" if name == "non_field_errors" else str(name))
    if isinstance(detail, list):
        return _first_detail(detail[0], field)
    return f"{field}: {detail}" if field else str(detail)
