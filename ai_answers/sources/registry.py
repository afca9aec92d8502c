"""Which sources there are: one a model, and any number of others under names of their own.

Filled at start-up from each app's ``ai_answers.py``; read everywhere. Not thread-safe to change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.db.models import Model
from django.dispatch import Signal

from ..exceptions import ConfigurationError
from ..values import ObjectKey
from .base import Source

S = TypeVar("S", bound=type[Source])

_sources: dict[str, Source] = {}

source_registered = Signal()
"""Sent for each source. Sender: its class. Arguments: ``source``."""


def register(model: type[Model]) -> Callable[[S], S]:
    """Decorate a ``Source`` subclass: it describes the objects of ``model``.

    Raises ``ConfigurationError`` when the model has a source already, when what is decorated
    is no source, or when it leaves ``can_view`` open.
    """

    def decorate(source_class: S) -> S:
        if not (isinstance(source_class, type) and issubclass(source_class, Source)):
            raise ConfigurationError(
                f"@register({model.__name__}) needs a subclass of Source, not {source_class!r}."
            )
        if len(getattr(model._meta, "pk_fields", ())) > 1:
            raise ConfigurationError(
                f"{model.__name__} has a composite primary key; a source needs a single one."
            )
        source = _instance(source_class)
        source.model = model
        source.name = source.name or model._meta.label_lower
        register_source(source)
        return source_class

    return decorate


def register_source(source: Source) -> Source:
    """Add an instance under its own ``name``: a directory, or anything with ``get_objects``."""
    if not isinstance(source, Source):
        raise ConfigurationError(f"register_source() needs an instance of Source, not {source!r}.")
    if not source.name:
        raise ConfigurationError(f"{source!r} needs a name, such as 'docs'.")
    there = _sources.get(source.name)
    if there is not None:
        raise ConfigurationError(
            f"Two sources are named {source.name!r}: {there!r} and {source!r}; "
            "unregister one or give it another name."
        )
    _sources[source.name] = source
    source_registered.send(sender=type(source), source=source)
    return source


def unregister(what: type[Model] | Source | str) -> None:
    """Take a source out, by model, instance or name; unknown ones raise ``LookupError``."""
    for name, source in _sources.items():
        if what in (name, source, source.model):
            del _sources[name]
            return
    raise LookupError(f"No source is registered for {what!r}; there are: {_names()}.")


def registered() -> list[Source]:
    """Return all sources in the order they were registered."""
    return list(_sources.values())


def get_source(entity_type: str) -> Source | None:
    """Return the source of that name; ``None`` when there is none, or no longer."""
    return _sources.get(entity_type)


def parse_key(written: str) -> ObjectKey | None:
    """Read ``blog.article:7``; ``None`` for what is not of this form.

    Names and ids may hold colons: a registered name, in whatever case, goes first.
    """
    names = sorted(_sources, key=len, reverse=True)
    name = next((n for n in names if written.lower().startswith(f"{n}:".lower())), None)
    if name is not None:
        entity_id = written[len(name) + 1 :]
    else:
        name, _colon, entity_id = written.partition(":")
        name = name.lower()
    return ObjectKey(name, entity_id) if name and entity_id else None


def _instance(source_class: type[Source]) -> Source:
    try:
        return source_class()
    except TypeError as error:
        if not getattr(source_class, "__abstractmethods__", None):
            raise
        raise ConfigurationError(
            f"{source_class.__qualname__} must say who may see an object: write "
            "can_view(self, asker, obj), or use PublicSource if everyone may."
        ) from error


def _names() -> str:
    return ", ".join(map(repr, _sources)) or "none"
