"""Keeping indexes in step when a registered object is saved or deleted.

On commit, in place: the object's text is read, cut and written, a matter of milliseconds. Where
an index has an embedding, the vectors follow on a thread of their own (``indexing.background``),
so no save ever waits for an embedding service. A failure is logged and never breaks the save.

Not heard: bulk operations, ``update()``, changes of many-to-many relations or of other objects
that a text quotes, and raw fixtures. ``ai_answers_index`` catches up with those.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.db.models import Model
from django.db.models.signals import post_delete, post_save

from .sources import Source, registered

logger = logging.getLogger(__name__)


def connect() -> None:
    """Listen to saves and deletions; calling it again changes nothing."""
    post_save.connect(object_saved, dispatch_uid="ai_answers.object_saved")
    post_delete.connect(object_deleted, dispatch_uid="ai_answers.object_deleted")


def object_saved(*, instance: Model, using: str, raw: bool = False, **kwargs: Any) -> None:
    if raw:
        return
    for source in _sources_of(instance):
        _on_commit(_index, source, str(instance.pk), using)


def object_deleted(*, instance: Model, using: str, **kwargs: Any) -> None:
    for source in _sources_of(instance):
        # The key is read now: after the deletion the instance has none.
        _on_commit(_remove, source, str(instance.pk), using)


def _sources_of(instance: Model) -> Iterator[Source]:
    """Yield the sources of the object's model, of its parents and of proxies of either."""
    models = {
        base._meta.concrete_model for base in type(instance).__mro__ if hasattr(base, "_meta")
    }
    for source in registered():
        if source.model is not None and source.model._meta.concrete_model in models:
            yield source


def _on_commit(function: Any, source: Source, entity_id: str, using: str) -> None:
    def run() -> None:
        try:
            function(source, entity_id)
        except Exception:
            logger.exception("%r is out of step for object %s.", source, entity_id)

    transaction.on_commit(run, using=using)


# Indexing brings NumPy and the stemmers along; a process that saves nothing never needs them.


def _index(source: Source, entity_id: str) -> None:
    from .indexing import index_objects, indexes_of
    from .indexing.background import complete_later
    from .retrieval import index_settings

    index_objects(source, [entity_id], vectors=False)
    if any(index_settings(alias).embedding for alias in indexes_of(source)):
        complete_later(source.name, entity_id)


def _remove(source: Source, entity_id: str) -> None:
    from .indexing import remove_objects

    remove_objects(source, [entity_id])
