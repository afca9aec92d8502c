"""A strict content security policy on every response: the site runs no code but its own."""

from __future__ import annotations

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.utils.decorators import sync_and_async_middleware

POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)


@sync_and_async_middleware
def ContentSecurityPolicyMiddleware(get_response):
    if iscoroutinefunction(get_response):

        async def middleware(request):
            return _with_policy(await get_response(request))

        markcoroutinefunction(middleware)
    else:

        def middleware(request):
            return _with_policy(get_response(request))

    return middleware


def _with_policy(response):
    response.headers.setdefault("Content-Security-Policy", POLICY)
    return response
