"""Where links in an answer may lead: the site and what it allows."""

from __future__ import annotations

from urllib.parse import urlsplit

from ..conf import app_settings
from ..rendering import LinkPolicy


def link_policy(origin: str) -> LinkPolicy:
    """Return where links in an answer may lead on the site at ``origin``."""
    conf = app_settings()
    own = {urlsplit(origin).netloc.lower()} if origin else set()
    return LinkPolicy(
        hosts=frozenset(own | {host.lower() for host in conf.LINK_HOSTS}),
        mail_domains=frozenset(domain.lower() for domain in conf.LINK_MAIL_DOMAINS),
        base=origin,
    )
