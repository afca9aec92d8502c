"""What stands on the routes (S1–S3): CSRF for everyone, the permission to ask, no transaction.

DRF checks CSRF for signed-in users only; an anonymous question costs money as well.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.transaction import non_atomic_requests
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission

from ..models import Agent
from ..permissions import USE, has_perm
from .errors import error_response


class SiteSession(BaseAuthentication):
    """The user that the site's own middleware found; CSRF is the route's business."""

    def authenticate(self, request: Any) -> tuple[Any, None]:
        return getattr(request._request, "user", None) or AnonymousUser(), None


class MayUseAnswers(BasePermission):
    """The permission ``use_ai_answers``, or at least one agent that is open to everyone."""

    def has_permission(self, request: Any, view: Any) -> bool:
        user = request.user
        if user.is_authenticated and has_perm(user, USE):
            return True
        return Agent.objects.filter(access=Agent.Access.PUBLIC).exists()


class _Csrf(CsrfViewMiddleware):
    def _reject(self, request: HttpRequest, reason: str) -> HttpResponse:
        return error_response("csrf_failed", status=403)


def guarded(view_class: Any, **initkwargs: Any) -> Callable[..., HttpResponse]:
    """Return the view of ``view_class`` with permission and CSRF declared on the route.

    Outside ``ATOMIC_REQUESTS``: a run starts after the turn is committed, and a view that waits
    for it inside a transaction would lock it out.
    """
    declared = {"permission_classes": [MayUseAnswers], "authentication_classes": [SiteSession]}
    view = view_class.as_view(**declared | initkwargs)
    csrf = _Csrf(lambda request: None)
    # Without the mark that DRF sets, or the check would pass everything.
    checked = lambda request: None  # noqa: E731 - only its missing mark matters

    @wraps(view)
    def route(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        csrf.process_request(request)
        refused = csrf.process_view(request, checked, args, kwargs)
        if refused is not None:
            return refused
        return view(request, *args, **kwargs)

    route.csrf_exempt = True  # type: ignore[attr-defined] - checked above, with a JSON answer
    return non_atomic_requests(route)
