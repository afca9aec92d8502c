"""``{% load ai_answers %}``: the blocks of a page, and the links in its ``<head>``.

In: the slug of a saved block, or options. Out: the block's template, rendered without the
request. A slug that no block has costs a page nothing but the block: a note with ``DEBUG``,
else a logged warning and nothing. With ``DEBUG`` an agent that cannot answer is said in the same
place; that may cost a query. Wrong arguments are the developer's and raise always.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django import template
from django.conf import settings
from django.template import Context

from .blocks import (
    Shell,
    UnknownBlock,
    answer_shell,
    question_shell,
    refuse_more,
    sources_shell,
)

logger = logging.getLogger(__name__)
register = template.Library()

_IDS = "ai_answers_dom_ids"
_CHIP = re.compile(r'<a data-ref-index="(\d+)"')


@register.inclusion_tag("ai_answers/media.html", takes_context=True)
def ai_answers_media(context: Context) -> dict[str, Any]:
    """Link the stylesheet and the elements. Use once, in ``<head>``.

    Passes on the nonce of Django's or django-csp's policy. It is compared with ``None``: a lazy
    nonce is false until something prints it.
    """
    nonce = context.get("csp_nonce")
    if nonce is None:
        nonce = getattr(context.get("request"), "csp_nonce", None)
    return {"nonce": nonce}


@register.simple_tag(takes_context=True)
def ai_answer(context: Context, slug: str | None = None, *more: Any, **options: Any) -> str:
    """Place an Answer block: ``{% ai_answer "main" %}`` or ``{% ai_answer agent="library" %}``."""
    return _render(context, "answer", answer_shell, slug, more, options)


@register.simple_tag(takes_context=True)
def ai_question(context: Context, slug: str | None = None, *more: Any, **options: Any) -> str:
    """Place a Question block: a saved one, or one for ``target``, an Answer block's DOM id."""
    return _render(context, "question", question_shell, slug, more, options)


@register.simple_tag(takes_context=True)
def ai_sources(context: Context, slug: str | None = None, *more: Any, **options: Any) -> str:
    """Place a Sources block: a saved one, or one for ``target``, an Answer block's DOM id."""
    return _render(context, "sources", sources_shell, slug, more, options)


@register.filter(is_safe=True)
def citation_links(html: str, prefix: str) -> str:
    """Let the citations in an answer's HTML lead to ``#<prefix><number>``, without script."""
    return _CHIP.sub(rf'<a href="#{prefix}\1" data-ref-index="\1"', html)


def _render(
    context: Context,
    name: str,
    make_shell: Callable[[str | None, dict[str, Any]], Shell],
    slug: str | None,
    more: tuple[Any, ...],
    options: dict[str, Any],
) -> str:
    refuse_more(f"ai_{name}", more)
    try:
        shell = make_shell(slug, options)
    except UnknownBlock as error:
        if not settings.DEBUG:
            logger.warning("%s", error)
            return ""
        return _template(context, "missing").render(context.new({"message": str(error)}))
    if name == "answer":
        shell = replace(shell, dom_id=_unique_id(context, shell.dom_id))
    return _template(context, name).render(context.new({"block": shell}))


def _template(context: Context, name: str) -> template.Template:
    return context.template.engine.get_template(f"ai_answers/{name}.html")


def _unique_id(context: Context, dom_id: str) -> str:
    """Return ``dom_id``, numbered if it was given out in this rendering before (S77).

    The lowest layer of the render context lasts for the page, with its includes and blocks.
    """
    given = context.render_context.dicts[0].setdefault(_IDS, [])
    given.append(dom_id)
    count = given.count(dom_id)
    return dom_id if count == 1 else f"{dom_id}-{count}"
