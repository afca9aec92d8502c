"""Who a request comes from, as far as limits and repeated requests need to know."""

from __future__ import annotations

import ipaddress

from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from ..conf import app_settings


def client_address(request: HttpRequest) -> str:
    """Return the visitor's address; IPv6 as its /64, since one visitor holds a whole one.

    ``X-Forwarded-For`` counts only as far as ``TRUSTED_PROXIES`` proxies wrote it, from the
    right; what stands left of that can be sent by anyone. What is no address there, such as
    ``unknown``, gives way to the proxy's own: one limit for all of them, never one for each.
    """
    remote = request.META.get("REMOTE_ADDR", "")
    proxies = app_settings().TRUSTED_PROXIES
    if proxies:
        forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
        if len(forwarded) >= proxies and (address := _address(forwarded[-proxies])):
            return address
    return _address(remote) or remote


def _address(written: str) -> str:
    """Return one spelling of an address, ``""`` for what is none.

    Some proxies add the port, a new one with every connection: ``192.0.2.1:4711`` and
    ``[2001:db8::1]:4711``.
    """
    bare = written.strip().strip('"')
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        ip = ipaddress.ip_address(bare.partition("%")[0])
    except ValueError:
        return ""
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
