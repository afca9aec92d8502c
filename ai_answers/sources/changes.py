"""What changed in a transaction, told once, when it is committed.

In: objects that were saved, deleted or related anew, from ``receivers``; those of bulk operations,
from the site. Out: ``changes_committed`` with the ids to look at again. They are ids and no more:
what became of the objects is read after the commit, so one that was saved ten times, or deleted
and made anew, counts once, and one too many does no harm.
Holds back everything until the commit; a rollback drops it.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models import Model, QuerySet
from django.db.models.base import ModelBase
from django.dispatch import Signal

from .base import Source
from .registry import get_source, registered

logger = logging.getLogger(__name__)

changes_committed = Signal()
"""Sent once a transaction that changed something, after its commit. Arguments: ``changes``
(``dict[str, list[str]]``: ids by the name of their source)."""

READ = 2000
"""Objects of a queryset read at once."""


def objects_changed(objects: QuerySet | Iterable[Model]) -> None:
    """Say that ``objects`` changed in a way Django tells nobody: ``update()``, ``bulk_create()`` …

    They, and what quotes them, are looked at again when the transaction commits. A queryset is
    read now, so give it before an ``update()`` takes objects out of it; where sources only have
    such objects, and do not quote them, its keys are enough. Raises ``LookupError`` when no source
    has or quotes such objects, ``ValueError`` for one without a key.
    """
    if not isinstance(objects, QuerySet):
        for instance in objects:
            _require(type(instance))
            if instance.pk is None:
                raise ValueError(
                    f"This {type(instance).__name__} has no key yet; save it first. Of what "
                    "bulk_create() made where a database gives no keys back, pass a queryset."
                )
            using = instance._state.db or DEFAULT_DB_ALIAS
            note_object(instance, using=using)
            _note_quoted_twice(instance, using=using)
        return
    _require(objects.model)
    for source in sources_of(objects.model):
        keys = objects.values_list(source.model._meta.pk.name, flat=True)
        note(source, map(str, keys.iterator(READ)), using=objects.db)
    if quoting(objects.model) or heirs_of(objects.model):
        for instance in objects.iterator(READ):
            note_heirs(instance, using=objects.db)
            _note_quoted_twice(instance, using=objects.db)


def _note_quoted_twice(instance: Model, *, using: str) -> None:
    for source, ids in quoted_by(instance, using=using).items():
        note(source, ids, using=using)
    note_quoted(instance, using=using)


def note_object(instance: Model, *, using: str) -> None:
    """Note a changed object for the sources that have it, or an heir of it."""
    for source in sources_of(type(instance)):
        with _never_raising(source):
            note(source, [str(source.get_id(instance))], using=using)
    note_heirs(instance, using=using)


def note_heirs(instance: Model, *, using: str) -> None:
    """Note an object for the sources of models that inherit from its own: they share its row."""
    for source in heirs_of(type(instance)):
        pending = _pending_of(using)
        pending.parents[source.name, type(instance), instance.pk] = instance
        pending.tell_at_commit(using)


def note_quoted(instance: Model, *, using: str, besides: Container[Source] = ()) -> None:
    """Note an object for the sources that quote it, ``besides`` some; at the commit they are asked
    who does, as a failing question before would cost the site its transaction."""
    for source in quoting(type(instance)):
        if source not in besides:
            pending = _pending_of(using)
            pending.quoted[source.name, type(instance), instance.pk] = instance
            pending.tell_at_commit(using)


def quoted_by(instance: Model, *, using: str) -> dict[Source, list[str]]:
    """Return the ids of the objects that quote ``instance`` now, before its relations change."""
    found = {}
    for source in quoting(type(instance)):
        with _never_raising(source), transaction.atomic(using=using):
            found[source] = list(map(str, source.get_affected(instance)))
    return found


def note(source: Source, ids: Iterable[str], *, using: str) -> None:
    """Note ids of ``source``, changed through the connection ``using``."""
    if known := dict.fromkeys(ids):
        pending = _pending_of(using)
        pending.ids.setdefault(source.name, {}).update(known)
        pending.tell_at_commit(using)


def sources_of(model: type[Model]) -> list[Source]:
    """Return the sources of a model, of its parents and of proxies of either."""
    family = _family(model)
    return [source for source in registered() if _is_in(source.model, family)]


def heirs_of(model: type[Model]) -> list[Source]:
    """Return the sources whose model inherits from ``model`` and has a table of its own."""
    mine = model._meta.concrete_model
    return [
        source
        for source in registered()
        if isinstance(source.model, ModelBase) and mine in _parents(source.model)
    ]


def quoting(model: type[Model]) -> list[Source]:
    """Return the sources whose ``depends_on`` names ``model`` or a parent of it."""
    family = _family(model)
    return [
        source
        for source in registered()
        if any(_is_in(quoted, family) for quoted in source.depends_on)
    ]


def models_of(source: Source) -> Iterator[type[Model]]:
    """Yield the models whose objects concern ``source``: its own, those it quotes, their heirs,
    and those that its own inherits from."""
    for model in [source.model, *source.depends_on]:
        if isinstance(model, ModelBase):
            mine = model._meta.concrete_model
            yield from (heir for heir in apps.get_models() if mine in _family(heir))
    if isinstance(source.model, ModelBase):
        parents = _parents(source.model)
        yield from (model for model in apps.get_models() if model._meta.concrete_model in parents)


class _Pending:
    """What one transaction has changed so far."""

    def __init__(self) -> None:
        self.ids: dict[str, dict[str, None]] = {}
        self.quoted: dict[tuple[str, type[Model], Any], Model] = {}
        self.parents: dict[tuple[str, type[Model], Any], Model] = {}

    def tell_at_commit(self, using: str) -> None:
        # For every change: a savepoint that is rolled back takes its own callbacks along, and
        # only those. The first that is called tells everything, the others find nothing left.
        try:
            transaction.on_commit(partial(self.tell, using), using=using)
        except transaction.TransactionManagementError:
            logger.warning("Autocommit is off outside of a transaction: run ai_answers_index.")

    def tell(self, using: str) -> None:
        ids, self.ids = self.ids, {}
        quoted, self.quoted = self.quoted, {}
        parents, self.parents = self.parents, {}
        for (name, _, _), instance in quoted.items():
            # Without a key it was deleted since; who quoted it was asked before.
            if instance.pk is not None and (source := get_source(name)):
                with _never_raising(source):
                    affected = map(str, source.get_affected(instance))
                    ids.setdefault(name, {}).update(dict.fromkeys(affected))
        for (name, _, _), instance in parents.items():
            if instance.pk is not None and (source := get_source(name)):
                with _never_raising(source):
                    heirs = source.model._base_manager.using(using).filter(
                        **{instance._meta.pk.name: instance.pk}
                    )
                    found = map(str, heirs.values_list("pk", flat=True))
                    ids.setdefault(name, {}).update(dict.fromkeys(found))
        if changes := {name: list(some) for name, some in ids.items() if some}:
            changes_committed.send_robust(sender=None, changes=changes)


_pending: WeakValueDictionary[int, _Pending] = WeakValueDictionary()
"""By the identity of a connection. Only the callbacks in it keep the value alive, so it goes with
them: after the commit, and with a rollback."""


def _pending_of(using: str) -> _Pending:
    key = id(connections[using])
    pending = _pending.get(key)
    if pending is None:
        pending = _pending[key] = _Pending()
    return pending


@contextmanager
def _never_raising(source: Source) -> Iterator[None]:
    """Log what a source's method raises: it must never break the save."""
    try:
        yield
    except Exception:
        logger.exception("%r cannot say what is out of step.", source)


def _parents(model: type[Model]) -> set[type[Model]]:
    """Return the models in whose tables a part of each object of ``model`` is."""
    return {base for base in _family(model) if base is not None} - {model._meta.concrete_model}


def _family(model: type[Model]) -> set[type[Model]]:
    return {base._meta.concrete_model for base in model.__mro__ if hasattr(base, "_meta")}


def _is_in(model: Any, family: set[type[Model]]) -> bool:
    # What is no model in ``depends_on`` must not break a save.
    return isinstance(model, ModelBase) and model._meta.concrete_model in family


def _require(model: type[Model]) -> None:
    if not (sources_of(model) or heirs_of(model) or quoting(model)):
        raise LookupError(f"No source is registered for {model!r}, and none depends on it.")
