"""Turn an editor's Markdown into HTML with an id on every heading.

In: Markdown of an editor; raw HTML in it is shown as text. Out: safe HTML and the list of its
second-level headings for "On this page". Ids are slugs of the heading's text, so that
``/en/fees/#lost-items`` points at the paragraph that an answer cites. No I/O.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.token import Token


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    html: SafeString
    headings: tuple[Heading, ...]


def render(text: str) -> Rendered:
    """Render a page's text. Wide tables get a box of their own to scroll in."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    tokens = parser.parse(text)
    headings = tuple(_give_ids(tokens))
    html = parser.renderer.render(tokens, parser.options, {})
    # Safe: with "html" off every tag in it was written by markdown-it.
    return Rendered(html=mark_safe(html), headings=headings)  # noqa: S308


def _give_ids(tokens: list[Token]):
    seen: dict[str, int] = {}
    for opening, inline in zip(tokens, tokens[1:], strict=False):
        if opening.type != "heading_open":
            continue
        text = "".join(child.content for child in inline.children or ())
        slug = slugify(text, allow_unicode=True) or "section"
        seen[slug] = seen.get(slug, 0) + 1
        anchor = slug if seen[slug] == 1 else f"{slug}-{seen[slug]}"
        opening.attrSet("id", anchor)
        if opening.tag == "h2":
            yield Heading(id=anchor, text=text)


def _table_open(renderer, tokens, index, options, env) -> str:
    return '<div class="table-box" role="region" tabindex="0"><table>\n'


def _table_close(renderer, tokens, index, options, env) -> str:
    return "</table></div>\n"
