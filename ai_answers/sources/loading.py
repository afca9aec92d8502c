"""Loading objects of a source so that one that cannot be loaded hides no others.

In: a source and ids. Out: the objects there are, and the errors of single ones. Test it with a
source whose ``get_objects`` raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import InterfaceError, OperationalError

from ..exceptions import AnswersError
from .base import Source


def loaded(source: Source, ids: Sequence[str]) -> tuple[dict[str, Any], dict[str, Exception]]:
    """Return those of ``ids`` that exist now, and why others could not be loaded, by id.

    One call of ``get_objects``; where it fails, one for each id. Raises what is about no single
    object: a database that is away, an ``AnswersError``.
    """
    try:
        found = source.get_objects(ids)
        return {str(entity_id): obj for entity_id, obj in found.items()}, {}
    except (AnswersError, OperationalError, InterfaceError):
        raise
    except Exception as error:
        if len(ids) < 2:
            return {}, dict.fromkeys(ids, error)
    objects: dict[str, Any] = {}
    failures: dict[str, Exception] = {}
    for entity_id in ids:
        one, failed = loaded(source, [entity_id])
        objects |= one
        failures |= failed
    return objects, failures
