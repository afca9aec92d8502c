"""After a commit: bringing the changed objects in step, in place or by tasks.

In: ids by the name of their source. In place their texts are read, cut and written, a matter of
milliseconds each; where an index has an embedding, the vectors follow on a thread of their own
(``background``), so no save ever waits for an embedding service. With ``INDEXING_TASKS`` all of
it is left to the workers of that task backend. What fails is logged; the next
``ai_answers_index`` catches up, and its ``--check`` says so before.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from ..conf import app_settings
from ..retrieval import index_settings
from ..sources import Source, get_source
from .background import complete_later
from .running import index_objects, indexes_of

logger = logging.getLogger(__name__)

NAMED = 5
"""Ids named in the log."""
TOGETHER = 100
"""Objects of one task."""


def follow(changes: Mapping[str, Sequence[str]]) -> None:
    """Bring objects in step, by the ids of each source. Never raises."""
    for name, ids in changes.items():
        source = get_source(name)
        if source is None:
            continue
        try:
            if app_settings().INDEXING_TASKS:
                from .tasks import enqueue  # needs Django 6, or django-tasks

                for start in range(0, len(ids), TOGETHER):
                    enqueue(name, ids[start : start + TOGETHER])
            else:
                _in_place(source, ids)
        except Exception:
            some = ", ".join(ids[:NAMED]) + (", …" if len(ids) > NAMED else "")
            logger.exception("%r is out of step for %d objects: %s", source, len(ids), some)


def _in_place(source: Source, ids: Sequence[str]) -> None:
    index_objects(source, ids, vectors=False)
    if any(index_settings(alias).embedding for alias in indexes_of(source)):
        complete_later(source.name, ids)
