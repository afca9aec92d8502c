"""Who may find and read what, asked at the moment of use.

In: object keys and an asker. Out: the live objects he may view. A rule that fails says no.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from ..conf import setting_callable
from ..values import Asker, ObjectKey
from .base import texts_of
from .loading import loaded
from .registry import get_source

logger = logging.getLogger(__name__)


def access_tags_of(asker: Asker) -> frozenset[str]:
    """Return the tags ``USER_ACCESS_TAGS`` gives the asker; without the setting, none.

    A callable that raises counts as none, so that only untagged documents are found.
    """
    tags_of = setting_callable("USER_ACCESS_TAGS")
    if tags_of is None:
        return frozenset()
    try:
        return frozenset(texts_of(tags_of(asker)))
    except Exception:
        logger.exception("USER_ACCESS_TAGS failed; the asker is given no tags.")
        return frozenset()


def viewable(keys: Iterable[ObjectKey], asker: Asker) -> dict[ObjectKey, Any]:
    """Return the objects among ``keys`` that exist now and that ``asker`` may view.

    One query a source. Left out: an unregistered source, an object gone from its queryset, one
    that ``can_view`` denies, and one whose rule raises (logged).
    """
    by_source: dict[str, list[ObjectKey]] = {}
    for key in dict.fromkeys(keys):
        by_source.setdefault(key.entity_type, []).append(key)
    allowed = {}
    for entity_type, wanted in by_source.items():
        source = get_source(entity_type)
        if source is None:
            continue
        try:
            objects, failures = loaded(source, [key.entity_id for key in wanted])
        except Exception:
            logger.exception("%r could not load its objects; none of them is used.", source)
            continue
        for entity_id, error in failures.items():
            logger.error("%r could not load %r.", source, entity_id, exc_info=error)
        for key in wanted:
            obj = objects.get(key.entity_id)
            if obj is not None and _can_view(source, asker, obj, key):
                allowed[key] = obj
    return allowed


def _can_view(source, asker: Asker, obj: Any, key: ObjectKey) -> bool:
    try:
        # "is True": a coroutine or another stray object must not open anything.
        return source.can_view(asker, obj) is True
    except Exception:
        logger.exception("can_view of %r failed for %s; it is not shown.", source, key)
        return False
