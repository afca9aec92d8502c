"""Clean text on its way in and HTML on its way out: the second of two independent layers.

In: a piece of model text, or HTML made by ``inline``. Out: the same without what must not pass.
``inline`` never makes HTML out of tags a model writes; if it ever did, nh3 lets through nothing
but the phrases below. Block tags are constants of ``blocks`` and never come from a model.
``plain_line`` does for a title what ``clean_text`` does for an answer, and more: a title stands
alone between other words, so it may not even steer the direction of its own.
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
# any language needs; the other direction marks are part of Arabic and Hebrew writing. Tag
# characters spell words that only machines read; three flags of emoji are lost with them.
_CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_OVERRIDES = r"\u202d\u202e"
_TAGS = r"\U000e0000-\U000e007f"
_UNREADABLE = re.compile(f"[{_CONTROLS}{_OVERRIDES}{_TAGS}]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_COMBINING = re.compile("([\u0300-\u036f]{8})[\u0300-\u036f]+")

_BIDI = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_JOINERS = r"\u200c\u200d"
_SELECTORS = r"\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
# What Unicode calls default ignorable, without the three above, and the empty braille cell.
_INVISIBLE = (
    r"\xad\u034f\u115f\u1160\u17b4\u17b5\u200b\u2060-\u2065\u206a-\u206f\u2800"
    r"\u3164\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_HIDDEN = re.compile(f"[{_BIDI}{_INVISIBLE}]")
_SHAPING = re.compile(
    f"(?=[{_JOINERS}{_SELECTORS}])([{_SELECTORS}]?)([{_JOINERS}]?)[{_JOINERS}{_SELECTORS}]*"
)
_BLANK = re.compile(rf"[\s{_CONTROLS}{_BIDI}{_JOINERS}{_SELECTORS}{_INVISIBLE}]*")


def clean_text(text: str) -> str:
    """Drop control and tag characters and direction overrides.

    NUL and lone surrogates become U+FFFD, as in CommonMark.
    """
    if _SURROGATE.search(text):  # first: two halves may make a character that is to go
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _UNREADABLE.sub("", text.replace("\0", "\ufffd"))


def drop_hidden(text: str) -> str:
    """Drop direction marks and what shows nothing, but for line breaks, joiners and selectors.

    Looks at no neighbours, so a stream may come in pieces.
    """
    return _HIDDEN.sub("", text)


def plain_line(text: str) -> str:
    """Return a title or label on one line, without anything that is not seen.

    The joiners of Persian words and of emoji stay: they are seen.
    """
    line = " ".join(text.replace("\0", "").split())
    return " ".join(_SHAPING.sub(_shape, drop_hidden(clean_text(line))).split())


def _shape(run: re.Match[str]) -> str:
    """Keep of a run of selectors and joiners what shapes the sign before it; the rest hides data.

    A selector shapes any sign, a joiner a letter or emoji, which is never ASCII.
    """
    before = run.string[max(run.start() - 1, 0) : run.start()]
    if not before.strip():
        return ""
    return run[1] + (run[2] if run[1] or not before.isascii() else "")


def is_blank(text: str) -> bool:
    """Whether a reader would see nothing of ``text``."""
    return _BLANK.fullmatch(text) is not None


def clip_combining(text: str) -> str:
    """Keep at most eight combining marks on one letter, so that no line runs into others."""
    return _COMBINING.sub(r"\1", text)


def clean_phrases(html: str) -> str:
    """Let pass what a paragraph may hold, in the one spelling that a browser would write too."""
    return _CLEANER.clean(html)


def text_to_html(text: str) -> str:
    """Escape plain text, such as code."""
    return clean_phrases(escape(text, quote=False))
