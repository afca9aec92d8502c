"""Why an object is, or is not, among the hits of a search. For those who run the site.

In: an index, a query, an asker and an object. Out: one reason from a fixed list, the first that
applies on the way from the source to the hits. It tells of objects the asker may not see.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from ..sources import get_source
from ..sources.access import access_tags_of, viewable
from ..values import Asker, ObjectKey
from .aliases import get_index, index_settings
from .searching import explain

REASONS: dict[str, Promise] = {
    "no_source": _("No source of this name is registered."),
    "not_in_index": _("This index does not hold that source (its SOURCES)."),
    "gone": _("The source does not return this object: it is not there or not to be shown."),
    "no_text": _("The object has no text in any language."),
    "not_indexed": _("It is not indexed yet; run ai_answers_index."),
    "hidden_by_tags": _("The asker has none of its access tags."),
    "denied": _("can_view says that the asker may not see it."),
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

    @property
    def text(self) -> str:
        return str(REASONS[self.reason])


def diagnose(
    alias: str,
    query: str,
    key: ObjectKey,
    *,
    asker: Asker,
    amount: int = 5,
    min_score: float | None = None,
) -> Diagnosis:
    """Say what keeps the object ``key`` from the hits, or at which place it is found."""
    if reason := _before_the_search(alias, key, asker):
        return Diagnosis(reason=reason)
    explanation = explain(alias, query, asker=asker, amount=amount, min_score=min_score)
    fates = ((n, c.fate) for n, c in enumerate(explanation.candidates, 1) if c.hit.chunk.key == key)
    place, fate = next(fates, (None, "no_match"))
    return Diagnosis(reason=fate, place=place)


def _before_the_search(alias: str, key: ObjectKey, asker: Asker) -> str:
    """Return why the search cannot find it at all; empty when it can."""
    source = get_source(key.entity_type)
    if source is None:
        return "no_source"
    names, index = index_settings(alias).sources, get_index(alias)
    if names is not None and source.name not in names:
        return "not_in_index"
    obj = source.get_objects([key.entity_id]).get(key.entity_id)
    if obj is None:
        return "gone"
    documents = list(source.documents(obj))
    if not documents:
        return "no_text"
    if not index.is_read_only and not index.stored(source.name, [key.entity_id]):
        return "not_indexed"
    if key not in viewable([key], asker):
        return "denied"
    tags = documents[0].access_tags
    return "hidden_by_tags" if tags and not tags & access_tags_of(asker) else ""
