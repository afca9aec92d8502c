"""Why an object is, or is not, among the hits of a search. For those who run the site.

In: an index, a query, an asker and an object. Out: one reason from a fixed list, the first that
applies on the way from the source to the hits; what another run of ``ai_answers_index`` would cure
comes behind what it would not. It tells of objects the asker may not see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from ..retrieval import Stored, explain, get_index, index_settings
from ..sources import Source, get_source
from ..sources.access import access_tags_of, viewable
from ..values import Asker, Document, ObjectKey
from .preparing import stored_as

REASONS: dict[str, Promise] = {
    "no_source": _("No source of this name is registered."),
    "not_in_index": _("This index does not hold that source (its SOURCES)."),
    "gone": _("The source does not return this object: it is not there or not to be shown."),
    "unreadable": _("Its texts cannot be read:"),
    "no_text": _("The object has no text in any language."),
    "not_indexed": _("It is not indexed yet; run ai_answers_index."),
    "hidden_by_tags": _("The asker has none of its access tags."),
    "denied": _("can_view says that the asker may not see it."),
    "stale": _("It is indexed with other content than it has now; run ai_answers_index."),
    "no_match": _("It has no word of the query, and its meaning is too far from it."),
    "closed": _("It was found, but the asker may not see it."),
    "other_language": _("It was found in a language in which it does not answer."),
    "beyond_pool": _("It was found behind what the reranker is given."),
    "reranked_away": _("The reranker left it out."),
    "low": _("Its score is below the lowest score."),
    "beyond": _("It was found behind the amount that is asked for."),
    "hit": _("It is among the hits."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    reason: str
    """A key of ``REASONS``."""
    place: int | None = None
    """From 1, among all chunks that were found; ``None`` when it was not."""
    detail: str = ""
    """What the reason is about: an error."""

    @property
    def text(self) -> str:
        return f"{REASONS[self.reason]} {self.detail}".strip()


def diagnose(
    alias: str,
    query: str,
    key: ObjectKey,
    *,
    asker: Asker,
    amount: int = 5,
    min_score: float | None = None,
) -> Diagnosis:
    """Say what keeps the object ``key`` from the hits, or at which place it is found.

    Raises what ``search`` does.
    """
    source = get_source(key.entity_type)
    if source is None:
        return Diagnosis(reason="no_source")
    names = index_settings(alias).sources
    if names is not None and source.name not in names:
        return Diagnosis(reason="not_in_index")
    try:
        obj = source.get_objects([key.entity_id]).get(key.entity_id)
        documents = [] if obj is None else list(source.documents(obj))
    except Exception as error:  # a site's own code
        return Diagnosis(reason="unreadable", detail=_said(error))
    if obj is None:
        return Diagnosis(reason="gone")
    if not documents:
        return Diagnosis(reason="no_text")
    stored = _stored(alias, source, key)
    if stored == {}:
        return Diagnosis(reason="not_indexed")
    if reason := _closed(documents, key, asker):
        return Diagnosis(reason=reason)
    explanation = explain(alias, query, asker=asker, amount=amount, min_score=min_score)
    fates = ((n, c.fate) for n, c in enumerate(explanation.candidates, 1) if c.hit.chunk.key == key)
    place, fate = next(fates, (None, "no_match"))
    if fate != "hit" and stored is not None and _is_stale(alias, source, documents, stored):
        fate = "stale"
    return Diagnosis(reason=fate, place=place)


def _stored(alias: str, source: Source, key: ObjectKey) -> dict[str, Stored] | None:
    """Return what is indexed of the object, by language; ``None`` where the index cannot tell."""
    index = get_index(alias)
    if index.is_read_only:
        return None
    stored = index.stored(source.name, [key.entity_id])
    return {language: value for (_id, language), value in stored.items()}


def _closed(documents: list[Document], key: ObjectKey, asker: Asker) -> str:
    """Return why the asker may not see it as it is now; empty when he may."""
    if key not in viewable([key], asker):
        return "denied"
    tags = documents[0].access_tags
    return "hidden_by_tags" if tags and not tags & access_tags_of(asker) else ""


def _is_stale(
    alias: str, source: Source, documents: list[Document], stored: dict[str, Stored]
) -> bool:
    settings = index_settings(alias)
    now = {d.language: stored_as(d, settings, source).checksum for d in documents}
    return now != {language: value.checksum for language, value in stored.items()}


def _said(error: Any) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}".rstrip(": ")
