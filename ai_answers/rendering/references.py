"""Sources as the reader sees them: label, address, and the card from the site's own template.

In: numbered sources and who asks. Out: one ``values.Reference`` per object he may see now.
A card is rendered on its own, without the request; one that fails is logged, empty, and takes
nothing else with it. What a card holds is the site's markup, so it is trusted; label, quote and
address are checked here. Sync, and reads the database: one query per kind of source.
Test it with a registered source and a saved object.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from django.template.loader import select_template
from django.utils import translation

from ..sources import get_source
from ..sources.access import viewable
from ..sources.languages import best_language
from ..values import Asker, ObjectKey, Reference, Source
from .sanitise import plain_line

logger = logging.getLogger(__name__)

SHOWN_SCORE = "cosine"
"""The kind of score that is sent to readers: it depends on the question and the chunk alone. One
with full text in it depends on all pages and would tell of those its reader may not see; a
reranker's has a scale only its maker knows."""

_MARKUP = re.compile(r"^[ \t]*(?:[#>|+*-]+|\d+\.)[ \t]+|[*_`|]+|!?\[([^\]]*)\]\([^)]*\)", re.M)


def render_references(
    sources: Iterable[Source],
    *,
    asker: Asker,
    view_mode: str,
    quote_chars: int = 0,
    quotes: Mapping[ObjectKey, str] | None = None,
    keep_unavailable: bool = False,
) -> list[Reference]:
    """Return a reference without number for each source, in order; the objects are live.

    An object comes once, however many sources name it (S51). Access is checked again (S52): what
    the asker may not see, or what is gone, is left out, or with ``keep_unavailable`` becomes a
    reference that tells nothing but that. ``quote_chars``: length of a quote of the chunk that
    fits best; 0: none. ``quotes``: what to quote of an object instead.
    """
    by_key = {}
    for source in sources:
        by_key.setdefault(source.key, source)
    objects = viewable(by_key, asker)
    references = []
    for key, source in by_key.items():
        if key in objects:
            references.append(
                render_reference(
                    source,
                    objects[key],
                    asker=asker,
                    view_mode=view_mode,
                    quote_chars=quote_chars,
                    quote=(quotes or {}).get(key, ""),
                )
            )
        elif keep_unavailable:
            references.append(unavailable(source, asker=asker))
    return references


def render_reference(
    source: Source,
    obj: Any,
    *,
    asker: Asker,
    view_mode: str,
    index: int | None = None,
    quote_chars: int = 0,
    quote: str = "",
) -> Reference:
    """Return the reference of one object that ``asker`` may see; never raises."""
    kind = get_source(source.key.entity_type)
    with _language(asker.language):
        language, title, url = source.language, source.title, source.url
        if kind is not None:
            language = best_language(kind, obj, asker.language, source.language)
            title = _ask(kind.get_title, obj, language) or title
            url = _ask(kind.get_url, obj, language)
        url = _with_anchor(safe_url(url), source, language)
        reference = Reference(
            index=index,
            key=str(source.key),
            entity_type=source.key.entity_type,
            entity_id=source.key.entity_id,
            label=_label(title, url, source),
            url=url,
            score=source.score if source.score_kind == SHOWN_SCORE else None,
            html="",
            quote=_plain(quote) or _quote(source, quote_chars),
        )
        context = {
            "object": obj,
            "reference": reference,
            "source": kind,
            "language": language,
            "view_mode": view_mode,
        }
        return replace(reference, html=_card(reference, view_mode, context))


def unavailable(source: Source, *, asker: Asker, index: int | None = None) -> Reference:
    """Return a reference that keeps its number and key but tells nothing of the object (G10)."""
    with _language(asker.language):
        label = translation.gettext("No longer available")
    return Reference(
        index=index,
        key=str(source.key),
        entity_type=source.key.entity_type,
        entity_id=source.key.entity_id,
        label=label,
        url="",
        score=None,
        html="",
    )


def safe_url(url: str) -> str:
    """Return ``url`` if it is http, https or a path of this site, else ``""``.

    Nothing is repaired: browsers drop tabs and line breaks and read a backslash as a slash.
    """
    url = str(url or "").strip()
    if not url.isprintable() or set(url) & set('\\ <>"'):
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if parts.scheme:
        return url if parts.scheme in ("http", "https") and parts.netloc else ""
    return url if url.startswith("/") and not parts.netloc and not url.startswith("//") else ""


def _language(code: str) -> contextlib.AbstractContextManager:
    return translation.override(code) if code else contextlib.nullcontext()


def _ask(method: Callable[[Any, str], Any], obj: Any, language: str) -> str:
    """Call a method of a site's source; one that fails is logged and says nothing."""
    try:
        return str(method(obj, language) or "")
    except Exception:
        logger.exception("%r failed; the reference does without it.", method)
        return ""


def _with_anchor(url: str, source: Source, language: str) -> str:
    """Lead to the heading of the best chunk, unless the page is shown in another language."""
    best = source.chunks[0] if source.chunks else None
    if not url or "#" in url or best is None or not best.anchor or best.language != language:
        return url
    return f"{url}#{quote(best.anchor, safe='-._~=')}"


def _label(title: str, url: str, source: Source) -> str:
    """Return the title on one line, else the path of the URL, else the key (H10)."""
    path = unquote(urlsplit(url).path).strip("/")
    return plain_line(title) or plain_line(path) or plain_line(str(source.key))


def _quote(source: Source, most: int) -> str:
    """Return the start of the best chunk as plain text, cut at a word."""
    if most < 1 or not source.chunks:
        return ""
    text = _plain(source.chunks[0].text)
    if len(text) <= most:
        return text
    head = text[: most - 1]
    return f"{head.rsplit(' ', 1)[0] or head}…"


def _plain(text: str) -> str:
    return plain_line(_MARKUP.sub(lambda match: match[1] or "", text))


def _card(reference: Reference, view_mode: str, context: dict[str, Any]) -> str:
    names = [
        f"ai_answers/references/{reference.entity_type}.{view_mode}.html",
        f"ai_answers/references/{view_mode}.html",
        "ai_answers/references/default.html",
    ]
    try:
        return str(select_template(names).render(context)).strip()
    except Exception:
        logger.exception("The card of %s could not be rendered.", reference.key)
        return ""
