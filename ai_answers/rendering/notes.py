"""The note below an answer that its sources do not bear, or that says there is none.

It comes from the site's own template.

In: what ``done`` says under ``support``. Out: safe HTML, empty when the reader need not be told.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from django.template.loader import render_to_string

logger = logging.getLogger(__name__)

TEMPLATE = "ai_answers/note.html"


def render_note(support: Mapping[str, Any]) -> str:
    """Return the note as one block in the language in force; never raises."""
    closest = [page for page in support.get("closest", ()) if page["url"]]
    if not support.get("is_marked") and not closest:
        return ""
    doubtful = [
        sentence["text"]
        for sentence in support.get("sentences", ())
        if sentence["verdict"] == "unsupported"
    ]
    try:
        context = {"verdict": support["verdict"], "doubtful": doubtful, "closest": closest}
        return render_to_string(TEMPLATE, context).strip() + "\n"
    except Exception:
        logger.exception("The note %s could not be rendered.", TEMPLATE)
        return ""
