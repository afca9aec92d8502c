"""A stored answer as it may be shown now.

References are rendered anew: an object that was deleted, moved or made private in between keeps
its number and says nothing more (G10).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..models import Turn
from ..rendering import render
from ..rendering.notes import render_note
from ..rendering.references import SHOWN_SCORE, render_references
from ..values import Asker, ObjectKey, Source
from .links import link_policy


def references_now(
    references: Iterable[dict[str, Any]], asker: Asker, *, view_mode: str
) -> list[dict[str, Any]]:
    """Return stored references as ``asker`` may see them now, in order, numbers kept."""
    stored = list(references)
    sources = [_source(number, row) for number, row in enumerate(stored, start=1)]
    quotes = {source.key: row.get("quote", "") for source, row in zip(sources, stored, strict=True)}
    rendered = render_references(
        sources, asker=asker, view_mode=view_mode, quotes=quotes, keep_unavailable=True
    )
    now = {reference.key: reference.as_dict() for reference in rendered}
    shown = []
    for source, row in zip(sources, stored, strict=True):
        data = now[str(source.key)]
        if "index" in row:
            data = {"index": row["index"], **data}
        # The anchor belongs to the passage, which is not stored with the reference.
        if data["url"] and row["url"].partition("#")[0] == data["url"]:
            data["url"] = row["url"]
        shown.append(data)
    return shown


def support_now(turn: Turn, asker: Asker, *, view_mode: str) -> dict[str, Any]:
    """Return what is stored of a turn's support, of pages those that ``asker`` may see now."""
    support = dict(turn.support)
    if "closest" in support:
        pages = references_now(support["closest"], asker, view_mode=view_mode)
        support["closest"] = [page for page in pages if page["url"]]
    return support


def answer_html(turn: Turn, support: Mapping[str, Any], *, origin: str) -> str:
    """Render a stored answer, with the note below it that ``support`` makes."""
    html = render(turn.answer, links=link_policy(origin), reference_count=len(turn.references))
    return html + render_note(support)


def _source(number: int, row: dict[str, Any]) -> Source:
    return Source(
        number=number,
        key=ObjectKey(row["entity_type"], row["entity_id"]),
        title="",
        url="",
        language="",
        chunks=(),
        score=row["score"],
        score_kind=SHOWN_SCORE,  # only such a one is stored with a reference
    )
