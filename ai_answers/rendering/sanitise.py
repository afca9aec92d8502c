"""Clean text on its way in and HTML on its way out: the second of two independent layers.

In: a piece of model text, or HTML made by ``inline``. Out: the same without what must not pass.
``inline`` never makes HTML out of tags a model writes; if it ever did, nh3 lets through nothing
but the phrases below. Block tags are constants of ``blocks`` and never come from a model.
Holds back nothing. ``ALLOWED_TAGS`` and ``ALLOWED_ATTRIBUTES`` are the whole list, for tests
and for a browser's own sanitiser.
"""

from __future__ import annotations

import re
from html import escape

import nh3

CITATION_CLASS = "ai-answers-citation"
LINK_REL = "nofollow noreferrer"

PHRASE_TAGS = frozenset({"a", "bdi", "br", "code", "em", "s", "strong", "sup"})
BLOCK_TAGS = frozenset(
    {"blockquote", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre"}
    | {"table", "tbody", "td", "th", "thead", "tr", "ul"}
)
ALLOWED_TAGS = PHRASE_TAGS | BLOCK_TAGS
ALLOWED_ATTRIBUTES = {
    "a": frozenset({"href", "rel", "data-ref-index"}),
    "sup": frozenset({"class"}),
    "ol": frozenset({"start"}),
    "td": frozenset({"data-align"}),
    "th": frozenset({"data-align"}),
}

_CLEANER = nh3.Cleaner(
    tags=set(PHRASE_TAGS),
    clean_content_tags={"script", "style"},
    attributes={"a": {"href", "data-ref-index"}},
    tag_attribute_values={"a": {"rel": {LINK_REL}}, "sup": {"class": {CITATION_CLASS}}},
    url_schemes={"http", "https", "mailto"},
    link_rel=None,
)

# Line breaks and tabs stay. The two overrides turn the text behind them around, beyond what
# any language needs; the other direction marks are part of Arabic and Hebrew writing.
_INVISIBLE = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202d\u202e]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_COMBINING = re.compile("([\u0300-\u036f]{8})[\u0300-\u036f]+")


def clean_text(text: str) -> str:
    """Drop control characters; NUL and lone surrogates become U+FFFD, as in CommonMark."""
    text = _INVISIBLE.sub("", text.replace("\0", "\ufffd"))
    if _SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clip_combining(text: str) -> str:
    """Keep at most eight combining marks on one letter, so that no line runs into others."""
    return _COMBINING.sub(r"\1", text)


def clean_phrases(html: str) -> str:
    """Let pass what a paragraph may hold, in the one spelling that a browser would write too."""
    return _CLEANER.clean(html)


def text_to_html(text: str) -> str:
    """Escape plain text, such as code."""
    return clean_phrases(escape(text, quote=False))
