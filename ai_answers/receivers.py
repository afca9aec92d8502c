"""Hearing that a registered object, or one it quotes, was saved, deleted or related anew.

Django's signals are noted while a transaction runs (``sources.changes``) and followed up once when
it commits (``indexing.following``): in place or by tasks, as ``INDEXING_TASKS`` says. A failure is
logged and never breaks the save.

Not heard: bulk operations, ``update()`` and raw fixtures, which send no signals or have not
written everything yet. ``objects_changed`` and ``ai_answers_index`` are for those.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Model
from django.db.models.signals import m2m_changed, post_delete, post_save, pre_delete, pre_save

from .sources import Source, registered
from .sources.changes import (
    changes_committed,
    models_of,
    note,
    note_object,
    note_quoted,
    quoted_by,
    sources_of,
)
from .sources.registry import source_registered

QUOTED_BY = "_ai_answers_quoted_by"
"""Attribute of an object between the signals before and after its save."""


def connect() -> None:
    """Follow all sources, also those registered later; calling it again changes nothing."""
    changes_committed.connect(follow_up, dispatch_uid="ai_answers.follow_up")
    source_registered.connect(listen_to, dispatch_uid="ai_answers.listen_to")
    for source in registered():
        listen_to(source=source)


def listen_to(*, source: Source, **kwargs: Any) -> None:
    """Listen to the models of one source alone.

    A listener to all models would take Django's fast ways from the whole site: it deletes
    objects unseen, and adds relations with one query, only where nobody listens.
    """
    for model in models_of(source):
        for signal, receiver in (
            (pre_save, object_changing),
            (post_save, object_saved),
            (pre_delete, object_leaving),
            (post_delete, object_deleted),
        ):
            signal.connect(receiver, sender=model, dispatch_uid=f"ai_answers.{receiver.__name__}")
        for through in _throughs(model):
            m2m_changed.connect(
                relations_changed, sender=through, dispatch_uid="ai_answers.relations_changed"
            )


def object_changing(*, instance: Model, using: str, raw: bool = False, **kwargs: Any) -> None:
    # A remark that is given to another page: only now does the database say whose it was.
    points = any(field.is_relation for field in instance._meta.concrete_fields)
    if points and not raw and not instance._state.adding:
        # Noted when it is saved: outside of a transaction what is noted is followed up at once.
        instance.__dict__[QUOTED_BY] = quoted_by(instance, using=using)


def object_saved(*, instance: Model, using: str, raw: bool = False, **kwargs: Any) -> None:
    if not raw:
        for source, ids in instance.__dict__.pop(QUOTED_BY, {}).items():
            note(source, ids, using=using)
        note_object(instance, using=using)
        note_quoted(instance, using=using)


def object_leaving(*, instance: Model, using: str, **kwargs: Any) -> None:
    # Only now do the relations say who quotes it.
    for source, ids in quoted_by(instance, using=using).items():
        note(source, ids, using=using)


def object_deleted(*, instance: Model, using: str, **kwargs: Any) -> None:
    note_object(instance, using=using)


def relations_changed(
    *,
    sender: type[Model],
    instance: Model,
    action: str,
    reverse: bool,
    model: type[Model],
    pk_set: set[Any] | None,
    using: str,
    **kwargs: Any,
) -> None:
    """Note both sides of a changed many-to-many relation."""
    if action not in ("post_add", "post_remove", "pre_clear"):
        return
    if action != "pre_clear" and not pk_set:
        return  # what was to be added was there
    others = sources_of(model)
    note_object(instance, using=using)
    # A tag that a page is given is quoted by this page anew, not by all others that have it.
    note_quoted(instance, using=using, besides=others)
    if others and pk_set is None:  # all of them: after the clearing nothing tells which
        pk_set = _related(sender, instance, model, reverse=reverse, using=using)
    for source in others:
        note(source, map(str, pk_set or ()), using=using)


def follow_up(*, changes: dict[str, list[str]], **kwargs: Any) -> None:
    # Indexing brings NumPy and the stemmers along; a process that changes nothing never needs them.
    from .indexing.following import follow

    follow(changes)


def _throughs(model: type[Model]) -> set[type[Model]]:
    """Return the tables of the many-to-many relations of ``model``, in both directions."""
    forward = (field.remote_field for field in model._meta.many_to_many)
    backward = (relation for relation in model._meta.related_objects if relation.many_to_many)
    return {relation.through for relation in (*forward, *backward)}


def _related(
    through: type[Model], instance: Model, model: type[Model], *, reverse: bool, using: str
) -> set[Any]:
    """Return the keys of what ``instance`` is related to through a table."""
    owner = model if reverse else type(instance)
    for field in owner._meta.many_to_many:
        if field.remote_field.through is through:
            ours, theirs = field.m2m_field_name(), field.m2m_reverse_field_name()
            if reverse:
                ours, theirs = theirs, ours
            rows = through._base_manager.using(using).filter(**{ours: instance})
            return set(rows.values_list(theirs, flat=True))
    return set()
