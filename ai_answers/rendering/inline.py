"""Turn the text of one paragraph, heading or table cell into safe HTML.

In: Markdown without block structure, in which every unescaped ``[n]`` outside code and math is
a citation. Out: a ``Phrase``: HTML of phrasing elements only, and how many elements and links
it holds. A citation becomes this chip, which no text can forge, as HTML in the text is off::

    word⁠<sup class="ai-answers-citation"><bdi><a data-ref-index="2">2</a></bdi></sup>

A word joiner (U+2060) before ``<sup>`` keeps it on the line of its word, ``<bdi>`` keeps the
digits apart from right-to-left text, and the page's script adds ``href`` and an accessible
name. Images become their alternative text, links that the policy refuses become plain text.
Holds back nothing. No Django and no I/O. Text that markdown-it cannot manage is shown as it is.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from markdown_it.token import Token

from .links import LinkPolicy
from .markdown import parse
from .sanitise import (
    CITATION_CLASS,
    LINK_REL,
    clean_phrases,
    clean_text,
    clip_combining,
    text_to_html,
)

MAX_LINKS = 30
"""Links in one answer; further ones are shown as text."""

MAX_SIGNS = 4000
"""Signs in one text; with more of them it is no prose, and is shown as it is."""

logger = logging.getLogger(__name__)

_SIGN = re.compile(r"[\[\]*_~`!&<$\\\n]")


@dataclass(frozen=True, slots=True)
class Phrase:
    """Safe HTML of one text."""

    html: str
    elements: int = 0
    """Elements at its top level: a client counts them among the children of a list item."""
    links: int = 0


class InlineRenderer:
    """Renders the texts of one answer, in order."""

    def __init__(self, *, links: LinkPolicy, reference_count: int) -> None:
        self.links = links
        self.reference_count = reference_count
        self.links_left = MAX_LINKS

    def render(self, text: str, *, is_final: bool) -> Phrase:
        """Render one text; a final one uses up the links it holds."""
        text = clip_combining(text)
        if len(text) > MAX_SIGNS and len(_SIGN.findall(text)) > MAX_SIGNS:
            return Phrase(text_to_html(text))
        try:
            phrase = self._write(parse(text, reference_count=self.reference_count))
        except Exception:  # A visitor gets plain text rather than no answer.
            logger.warning("An answer's text could not be rendered.", exc_info=True)
            phrase = Phrase(text_to_html(text))
        if is_final:
            self.links_left -= phrase.links
        return phrase

    def _write(self, tokens: Sequence[Token]) -> Phrase:
        out: list[str] = []
        depth = elements = links = 0
        is_linked = False
        before = " "  # What is seen last; a citation is glued to a word only.
        waiting: list[str] = []  # Chips found inside a link: they follow it.
        for token in tokens:
            if token.type == "link_open":
                href = self.links.href(str(token.attrs["href"]))
                is_linked = href is not None and links < self.links_left
                if is_linked:
                    out.append(f'<a href="{escape(href or "")}" rel="{LINK_REL}">')
                    links += 1
                    elements += not depth
                    depth += 1
            elif token.type == "link_close":
                if is_linked:
                    out.append("</a>")
                    depth -= 1
                    elements += 0 if depth else len(waiting)
                    out += waiting
                    before = waiting[-1] if waiting else before
                    waiting = []
                is_linked = False
            elif token.type == "citation" and is_linked:
                waiting.append(_chip(token.content, is_glued=True))
            elif token.type == "citation":
                before = _chip(token.content, is_glued=not before[-1].isspace())
                out.append(before)
                elements += not depth
            elif token.type in _PAIRED:
                out.append(f"<{'/' if token.nesting < 0 else ''}{token.tag}>")
                elements += token.nesting > 0 and not depth
                depth += token.nesting
            else:
                html = _write_flat(token)
                elements += html.startswith("<") and not depth
                out.append(html)
                before = "\n" if token.type == "hardbreak" else html or before
        return Phrase(clean_phrases("".join(out)), elements, links)


_PAIRED = frozenset({"strong_open", "strong_close", "em_open", "em_close", "s_open", "s_close"})


def _write_flat(token: Token) -> str:
    if token.type == "code_inline":
        return f"<code>{escape(token.content, quote=False)}</code>"
    if token.type == "softbreak":
        return "\n"
    if token.type == "hardbreak":
        return "<br>"
    if token.type == "image":
        return escape(clean_text(_plain(token.children or ()).strip()), quote=False)
    # A character reference may stand for what clean_text took out before.
    return escape(clean_text(token.content), quote=False)


def _plain(tokens: Sequence[Token]) -> str:
    """Return the text of an image's description, without citations."""
    words = []
    for token in tokens:
        if token.type == "image":
            words.append(_plain(token.children or ()))
        elif token.type in ("softbreak", "hardbreak"):
            words.append(" ")
        elif token.type != "citation":
            words.append(token.content)
    return "".join(words)


def _chip(number: str, *, is_glued: bool) -> str:
    joiner = "\u2060" if is_glued else ""
    return (
        f'{joiner}<sup class="{CITATION_CLASS}"><bdi>'
        f'<a data-ref-index="{number}">{number}</a></bdi></sup>'
    )
