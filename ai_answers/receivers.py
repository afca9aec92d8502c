"""Keeping indexes in step when a registered object is saved, deleted or related anew.

On commit: the changes of one transaction are brought in together, each object once. The texts
are read, cut and written in place, a matter of milliseconds each, or handed to the site's task
backend where ``INDEXING_TASKS`` names one. Where an index has an embedding, the vectors follow on
a thread of their own (``indexing.background``), so no save ever waits for an embedding service. A
failure is logged and never breaks the save.

Not heard: bulk operations, ``update()``, and raw fixtures. ``ai_answers_index`` catches up with
those, and ``ai_answers_index --check`` says whether it has to.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Any

from django.db import connections, transaction
from django.db.models import Model
from django.db.models.signals import m2m_changed, post_delete, post_save

from .conf import app_settings
from .sources import Source, registered

logger = logging.getLogger(__name__)

TOGETHER = 100
"""Objects of one task."""


def connect() -> None:
    """Listen to changes; calling it again changes nothing."""
    post_save.connect(object_saved, dispatch_uid="ai_answers.object_saved")
    post_delete.connect(object_deleted, dispatch_uid="ai_answers.object_deleted")
    m2m_changed.connect(relation_changed, dispatch_uid="ai_answers.relation_changed")


def object_saved(*, instance: Model, using: str, raw: bool = False, **kwargs: Any) -> None:
    if not raw:
        _note(instance, using)


def object_deleted(*, instance: Model, using: str, **kwargs: Any) -> None:
    # The key is read now: after the deletion the instance has none.
    _note(instance, using)


def relation_changed(
    *, instance: Any, action: str, model: type[Model], pk_set: Iterable[Any] | None, using: str,
    **kwargs: Any,
) -> None:  # fmt: skip
    """Hear of both ends: the object whose relation was set, and those it was set to."""
    if action == "pre_clear":  # afterwards nobody knows to whom it was related
        field = kwargs.get("reverse")
        _note_related(instance, model, using, reverse=bool(field), sender=kwargs.get("sender"))
    if action in ("post_add", "post_remove", "post_clear"):
        _note(instance, using)
        for source in _sources_of(model):
            _add(source, map(str, pk_set or ()), using)


def _note_related(instance: Any, model: type[Model], using: str, *, reverse: bool, sender) -> None:
    sources = list(_sources_of(model))
    if not sources:
        return
    own, other = (type(instance)._meta.model, model)
    # The through table names both ends; which field is whose depends on the direction.
    names = [
        field
        for field in sender._meta.get_fields()
        if field.is_relation and field.related_model is not None
    ]
    mine = next((f for f in names if issubclass(own, f.related_model)), None)
    theirs = next((f for f in names if f is not mine and issubclass(other, f.related_model)), None)
    if mine is None or theirs is None:
        return
    rows = sender._base_manager.using(using).filter(**{mine.name: instance.pk})
    ids = [str(pk) for pk in rows.values_list(theirs.attname, flat=True)]
    for source in sources:
        _add(source, ids, using)


def _note(instance: Model, using: str) -> None:
    for source in _sources_of(type(instance)):
        _add(source, [str(instance.pk)], using)
    for source in registered():
        try:
            affected = [str(entity_id) for entity_id in source.get_affected(instance)]
        except Exception:
            logger.exception("get_affected of %r failed.", source)
            continue
        if affected:
            _add(source, affected, using)


def _sources_of(model: type[Model]) -> Iterator[Source]:
    """Yield the sources of a model, of its parents and of proxies of either."""
    models = {base._meta.concrete_model for base in model.__mro__ if hasattr(base, "_meta")}
    for source in registered():
        if source.model is not None and source.model._meta.concrete_model in models:
            yield source


class _Changes:
    """What changed under one set of savepoints, to be brought in when that is committed."""

    def __init__(self) -> None:
        self.ids: dict[str, dict[str, None]] = {}
        self.sources: dict[str, Source] = {}

    def add(self, source: Source, ids: Iterable[str]) -> None:
        self.sources[source.name] = source
        self.ids.setdefault(source.name, {}).update(dict.fromkeys(ids))

    def __call__(self) -> None:
        for name, source in self.sources.items():
            ids = list(self.ids[name])
            try:
                _bring_in(source, ids)
            except Exception:
                some = ", ".join(ids[:5])
                logger.exception("%r is out of step for %d objects: %s.", source, len(ids), some)


def _add(source: Source, ids: Iterable[str], using: str) -> None:
    """Add to what is brought in at the commit.

    Django drops what was noted under a savepoint that is rolled back, so there is one collection
    for each set of savepoints; it is looked up where Django keeps it.
    """
    connection = connections[using]
    if not connection.in_atomic_block:
        changes = _Changes()
        changes.add(source, ids)
        transaction.on_commit(changes, using=using)
        return
    savepoints = set(connection.savepoint_ids)
    noted = (hook for sids, hook, *_ in connection.run_on_commit if sids == savepoints)
    changes = next((hook for hook in noted if isinstance(hook, _Changes)), None)
    if changes is None:
        changes = _Changes()
        transaction.on_commit(changes, using=using)
    changes.add(source, ids)


def _bring_in(source: Source, ids: list[str]) -> None:
    # Indexing brings NumPy and the stemmers along; a process that saves nothing never needs them.
    if app_settings().INDEXING_TASKS:
        from .indexing.tasks import enqueue

        for start in range(0, len(ids), TOGETHER):
            enqueue(source.name, ids[start : start + TOGETHER])
        return
    from .indexing import index_objects, indexes_of
    from .indexing.background import complete_later
    from .retrieval import index_settings

    index_objects(source, ids, vectors=False)
    if any(index_settings(alias).embedding for alias in indexes_of(source)):
        for entity_id in ids:
            complete_later(source.name, entity_id)
