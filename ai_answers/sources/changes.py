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

    They are looked at again when the transaction commits. Of a queryset only the keys are read;
    it is evaluated now, so give it before an ``update()`` takes objects out of it. Raises
    ``LookupError`` when no source has such objects.
    """
    if not isinstance(objects, QuerySet):
        for instance in objects:
            _require(sources_of(type(instance)), type(instance))
            note_object(instance, using=instance._state.db or DEFAULT_DB_ALIAS)
        return
    sources = _require(sources_of(objects.model), objects.model)
    ids = [str(pk) for pk in objects.values_list("pk", flat=True).iterator(READ)]
    for source in sources:
        note(source, ids, using=objects.db)


def note_object(instance: Model, *, using: str) -> None:
    """Note a changed object for the sources that have it."""
    for source in sources_of(type(instance)):
        with _never_raising(source):
            note(source, [source.get_id(instance)], using=using)


def note_quoted(
    instance: Model, *, using: str, now: bool = False, besides: Container[Source] = ()
) -> None:
    """Note an object for the sources that quote it, ``besides`` some.

    ``now``: who does is asked before the commit. That is for deletions, which cut the relations;
    the other way a failing question to the database would cost the site its transaction.
    """
    for source in quoting(type(instance)):
        if source in besides:
            continue
        with _never_raising(source):
            if now:
                with transaction.atomic(using=using):
                    note(source, map(str, source.get_affected(instance)), using=using)
            else:
                pending = _pending_of(using)
                pending.quoted[source.name, type(instance), instance.pk] = instance
                pending.tell_at_commit(using)


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


def quoting(model: type[Model]) -> list[Source]:
    """Return the sources whose ``depends_on`` names ``model`` or a parent of it."""
    family = _family(model)
    return [
        source
        for source in registered()
        if any(_is_in(quoted, family) for quoted in source.depends_on)
    ]


def models_of(source: Source) -> Iterator[type[Model]]:
    """Yield the models whose objects concern ``source``: its own, those it quotes, their heirs."""
    for model in [source.model, *source.depends_on]:
        if isinstance(model, ModelBase):
            mine = model._meta.concrete_model
            yield from (heir for heir in apps.get_models() if mine in _family(heir))


class _Pending:
    """What one transaction has changed so far."""

    def __init__(self) -> None:
        self.ids: dict[str, dict[str, None]] = {}
        self.quoted: dict[tuple[str, type[Model], Any], Model] = {}

    def tell_at_commit(self, using: str) -> None:
        # For every change: a savepoint that is rolled back takes its own callbacks along, and
        # only those. The first that is called tells everything, the others find nothing left.
        try:
            transaction.on_commit(self.tell, using=using)
        except transaction.TransactionManagementError:
            logger.warning("Autocommit is off outside of a transaction: run ai_answers_index.")

    def tell(self) -> None:
        ids, self.ids = self.ids, {}
        quoted, self.quoted = self.quoted, {}
        for (name, _, _), instance in quoted.items():
            # Without a key it was deleted since; who quoted it was asked before.
            if instance.pk is not None and (source := get_source(name)):
                with _never_raising(source):
                    affected = map(str, source.get_affected(instance))
                    ids.setdefault(name, {}).update(dict.fromkeys(affected))
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


def _family(model: type[Model]) -> set[type[Model]]:
    return {base._meta.concrete_model for base in model.__mro__ if hasattr(base, "_meta")}


def _is_in(model: Any, family: set[type[Model]]) -> bool:
    # What is no model in ``depends_on`` must not break a save.
    return isinstance(model, ModelBase) and model._meta.concrete_model in family


def _require(sources: list[Source], model: type[Model]) -> list[Source]:
    if not sources:
        raise LookupError(f"No source is registered for {model!r}.")
    return sources
