"""From what a listing tool returns to hits that can be cited (S55–S59).

In: structured output of a tool that an agent's editor marked as a source tool. Out: one hit for
each object its asker may see, in the tool's order. Two shapes of rows are read, and objects of
registered models, which is what a tool of a Django site has at hand:

- ``{"entity_type", "entity_id", "langcode", "content"}``, as the search's own results;
- rows with ``{"_metadata": {"type", "id"}}`` in them, whose other values are the content.

The list may stand alone, or under ``results``, also below ``outputs``. No model calls; asks the
database, so call it as a burst.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.db.models import Model, QuerySet

from ..sources import Source, get_source, registered
from ..sources.access import viewable
from ..sources.base import in_language
from ..sources.fields import label, value_text
from ..sources.languages import best_language
from ..values import Asker, Chunk, Hit, ObjectKey

logger = logging.getLogger(__name__)

MAX_RESULTS = 50
"""Rows of a source tool that has no limit of its own."""
MOST_ROWS = 1_000
"""Rows that are looked at, however many there are."""
VALUE_CHARS = 200
"""Of one value in the line of a row without content."""
KIND = "listed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a source tool listed, for the asker of the run."""

    raw: Any
    """The tool's structured output as it was."""
    hits: tuple[Hit, ...]
    left_out: int = 0
    """Objects beyond the limit that the asker may see as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    key: ObjectKey
    language: str = ""
    content: str = ""
    values: tuple[tuple[str, Any], ...] = ()


def listed(output: Any, *, asker: Asker, max_results: int | None = None) -> Listing:
    """Return the hits of ``output``: no gate, no reranking, at most ``max_results`` objects.

    Left out without a word: rows that name no registered source, and objects that are gone or
    that ``asker`` may not see. An output of another shape gives no hits and a warning.
    """
    rows = list(islice(_rows(output), MOST_ROWS))
    objects = viewable([row.key for row in rows], asker)
    seen = [row for row in rows if row.key in objects]
    if len(seen) < len(rows):
        logger.debug("%d rows of a source tool were left out.", len(rows) - len(seen))
    kept = list(dict.fromkeys(row.key for row in seen))[: max_results or MAX_RESULTS]
    hits = [
        _hit(row, place, objects[row.key], asker)
        for place, row in enumerate(seen)
        if row.key in kept
    ]
    return Listing(
        raw=output, hits=tuple(hits), left_out=len({row.key for row in seen}) - len(kept)
    )


def _rows(output: Any) -> Iterator[_Row]:
    for item in _items(output):
        row = _row(item)
        if row is not None and get_source(row.key.entity_type) is not None:
            yield row


def _items(output: Any) -> Iterable[Any]:
    if isinstance(output, str):
        try:
            output = json.loads(output)
        except ValueError:
            return ()  # a text, which has no rows
    if isinstance(output, Model):
        return (output,)
    for name in ("outputs", "results"):
        if isinstance(output, Mapping) and name in output:
            output = output[name]
    if isinstance(output, Mapping):
        return (output,)
    if isinstance(output, QuerySet):
        return output[:MOST_ROWS]
    if isinstance(output, Iterable) and not isinstance(output, str | bytes):
        return output
    if output is not None:
        logger.warning("A source tool returned %s, which has no rows.", type(output).__name__)
    return ()


def _row(item: Any) -> _Row | None:
    if isinstance(item, Model):
        return _object_row(item)
    if not isinstance(item, Mapping):
        return None
    meta = item.get("_metadata")
    if isinstance(meta, Mapping):
        entity_type, entity_id = meta.get("type"), meta.get("id")
        values = tuple((k, v) for k, v in item.items() if k != "_metadata")
        language = meta.get("langcode") or meta.get("language") or ""
        row = _Row(key=_key(entity_type, entity_id), language=str(language), values=values)
    else:
        own = ("entity_type", "entity_id", "langcode", "language", "content")
        row = _Row(
            key=_key(item.get("entity_type"), item.get("entity_id")),
            language=str(item.get("langcode") or item.get("language") or ""),
            content=str(item.get("content") or "").strip(),
            values=tuple((k, v) for k, v in item.items() if k not in own),
        )
    return row if row.key.entity_type and row.key.entity_id else None


def _key(entity_type: Any, entity_id: Any) -> ObjectKey:
    name = str(entity_type or "")
    # As models are named in code: blog.Article for blog.article.
    return ObjectKey(
        name if get_source(name) else name.lower(), "" if entity_id is None else str(entity_id)
    )


def _object_row(obj: Model) -> _Row | None:
    for source in registered():
        if source.model is not None and isinstance(obj, source.model):
            return _Row(key=ObjectKey(source.name, source.get_id(obj)))
    return None


def _hit(row: _Row, place: int, obj: Any, asker: Asker) -> Hit:
    source = get_source(row.key.entity_type)
    language = best_language(source, obj, asker.language, row.language)
    with in_language(language or asker.language):
        title = str(source.get_title(obj, language) or "")
        url = str(source.get_url(obj, language) or "")
        content = row.content or _line(title, row.values or _values(source, obj))
    chunk = Chunk(
        id=None,
        key=row.key,
        language=language,
        position=place,
        text=content,
        title=title,
        url=url,
    )
    return Hit(chunk=chunk, score=1.0, score_kind=KIND)


def _values(source: Source, obj: Any) -> list[tuple[str, Any]]:
    """Return the short values of an object that came without any, so that it is told apart."""
    found = []
    for name in source.fields:
        text = value_text(obj, name)
        if text and len(text) <= VALUE_CHARS:
            found.append((label(obj, name), text))
    return found


def _line(title: str, values: Iterable[tuple[str, Any]]) -> str:
    """Return the label with the row's other values, on one line (S58)."""
    said = [
        f"{name}: {' '.join(str(value).split())[:VALUE_CHARS]}"
        for name, value in values
        if value not in (None, "", [], {}) and str(value) != title
    ]
    return " · ".join([title, *said])
