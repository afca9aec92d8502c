"""Decide where a link in an answer may lead.

In: an address as a model wrote it. Out: the ``href`` to show, or ``None`` for plain text.
Browsers repair addresses in many ways (``/\\host``, ``https:host``, ``user@host``, tabs inside
a scheme). Nothing is repaired here: an address either has one of four plain shapes, for which
what we read and what a browser reads is the same, or it is no link.
No Django and no I/O; a table of addresses tests it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urljoin

MAX_URL_CHARS = 2048

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_WEB = re.compile(r"(https?)://([^/?#]*)(?:[/?#].*)?", re.IGNORECASE)
_MAIL = re.compile(r"mailto:[A-Za-z0-9.!#$'*+\-/=^_~]+@([A-Za-z0-9.\-]+)", re.IGNORECASE)
_AUTHORITY = re.compile(r"([\w.\-]+)(?::([0-9]{1,5}))?")
_DEFAULT_PORT = {"http": "80", "https": "443"}
_UNSAFE = frozenset(' \\<>"')


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPolicy:
    """Which links an answer may carry: those of the site itself and of the hosts it names."""

    hosts: frozenset[str] = frozenset()
    """``host``, ``host:port``, ``.host`` (it and all below it) or a whole ``scheme://host``.
    Without a scheme ``https`` is meant, and ``http`` too where the site itself uses it."""
    mail_domains: frozenset[str] = frozenset()
    """Domains that a bare ``mailto:`` address may belong to; empty: no mail links."""
    base: str = ""
    """The site's own address, ``https://site.example/``. Relative links lead there;
    empty: they are left as they are and no absolute address is the site's own."""

    def allows(self, url: str) -> bool:
        """Whether a browser that follows the address stays where the site allows."""
        return self.href(url) is not None

    def href(self, url: str) -> str | None:
        """Return the address to put into ``href``, or ``None`` if it must not be a link."""
        if not 0 < len(url) <= MAX_URL_CHARS or not url.isprintable():
            return None
        if not _UNSAFE.isdisjoint(url):
            return None
        if _SCHEME.match(url):
            mail = _MAIL.fullmatch(url)
            if mail:
                return url if mail[1].lower() in self.mail_domains else None
            return url if self._is_allowed_origin(url) else None
        if url.startswith("//"):
            return None
        if url[0] in "/?#" or not self.base:
            # A colon before the first slash could still be read as a scheme.
            return url if url[0] in "/?#" or ":" not in url.split("/", 1)[0] else None
        joined = urljoin(self.base, url)
        return joined if self._is_allowed_origin(joined) else None

    def _is_allowed_origin(self, url: str) -> bool:
        origin = _origin(url)
        if origin is None:
            return False
        own = _origin(self.base)
        if origin == own:
            return True
        scheme, host, port = origin
        if f"{scheme}://{host}{port}" in self.hosts:
            return True
        if scheme == "http" and not (own and own[0] == "http"):
            return False
        return any(_is_host(host + port, entry) for entry in self.hosts)


def _origin(url: str) -> tuple[str, str, str] | None:
    """Split into scheme, host and ``:port`` (empty for the default); ``None`` if not plain."""
    web = _WEB.fullmatch(url)
    authority = _AUTHORITY.fullmatch(web[2]) if web else None
    host = _ascii_host(authority[1]) if authority else None
    if host is None:
        return None
    scheme, port = web[1].lower(), authority[2]
    return scheme, host, f":{port}" if port and port != _DEFAULT_PORT[scheme] else ""


def _ascii_host(host: str) -> str | None:
    """Lower-case a host, in its ``xn--`` form; ``None`` where two readings are possible."""
    lowered = host.lower()
    if lowered.isascii():
        return None if "_" in lowered else lowered
    try:
        encoded = lowered.encode("idna").decode("ascii")
        # Letters that the encoding folds into others differ between browsers and Python.
        return encoded if encoded.encode("ascii").decode("idna") == lowered else None
    except UnicodeError:
        return None


def _is_host(host: str, entry: str) -> bool:
    entry = entry.lower()
    if entry.startswith("."):
        return len(entry) > 1 and (host == entry[1:] or host.endswith(entry))
    if not entry.isascii():
        entry = _ascii_host(entry) or entry
    return host == entry
