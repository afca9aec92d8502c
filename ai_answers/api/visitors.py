"""Who a request comes from, as far as limits and repeated requests need to know."""

from __future__ import annotations

import ipaddress

from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from ..conf import app_settings


def client_address(request: HttpRequest) -> str:
    """Return the visitor's address; IPv6 as its /64, since one visitor holds a whole one.

    ``X-Forwarded-For`` counts only as far as ``TRUSTED_PROXIES`` proxies wrote it, from the
    right; what stands left of that can be sent by anyone.
    """
    address = request.META.get("REMOTE_ADDR", "")
    proxies = app_settings().TRUSTED_PROXIES
    if proxies:
        forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
        if len(forwarded) >= proxies:
            address = forwarded[-proxies].strip() or address
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if ip.version == 6:
        if ip.ipv4_mapped:
            return str(ip.ipv4_mapped)
        return str(ipaddress.ip_network((ip, 64), strict=False).network_address)
    return str(ip)


def payer_key(request: HttpRequest) -> str:
    """Identify who pays from a budget: the user, else the address. Hashed."""
    if request.user.is_authenticated:
        return _hash(f"user:{request.user.pk}")
    return _hash(f"address:{client_address(request)}")


def visitor_key(request: HttpRequest) -> str:
    """Identify one person: the user, else the browser by its CSRF secret. Hashed.

    The secret is the one cookie that every visitor who may ask already has.
    """
    if request.user.is_authenticated:
        return _hash(f"user:{request.user.pk}")
    secret = request.META.get("CSRF_COOKIE")
    if secret:
        return _hash(f"browser:{secret}")
    return _hash(f"address:{client_address(request)}")


def _hash(value: str) -> str:
    return salted_hmac("ai_answers.visitor", value, algorithm="sha256").hexdigest()[:40]
