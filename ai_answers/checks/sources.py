"""Checks of what the site has registered as sources.

Out: E015 a source whose text cannot be made: ``fields`` is empty, or names what the model does
not have; E017 a directory source whose folder is not there; W022 a source that would never hear of
what it quotes. Without them the first run of
``ai_answers_index`` says so, or nothing at all.
Test by registering a source and ``django.core.checks.run_checks``.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from django.core.checks import CheckMessage, Error, Warning, register
from django.db.models import Model
from django.db.models.base import ModelBase

from ..sources import DirectorySource, Source, registered
from ..sources.base import relations_to


@register("ai_answers")
def check_sources(app_configs, **kwargs) -> list[CheckMessage]:
    """E015: ``fields`` that make up no text."""
    return [
        Error(f"The source {source.name!r}: {message}", hint=hint, obj=source, id="ai_answers.E015")
        for source in registered()
        for message, hint in _wrong_fields(source)
    ]


@register("ai_answers")
def check_folders(app_configs, **kwargs) -> list[CheckMessage]:
    """E017: a folder that does not exist."""
    return [
        Error(
            f"The source {source.name!r}: its path {str(source.path)!r} is not an existing folder.",
            hint="Correct the path or make the folder; a relative path counts from where the "
            "command is started.",
            obj=source,
            id="ai_answers.E017",
        )
        for source in registered()
        if _lists_its_folder(source) and not Path(source.path).is_dir()
    ]


@register("ai_answers")
def check_depends_on(app_configs, **kwargs) -> list[CheckMessage]:
    """W022: a model in ``depends_on`` of whose objects nothing tells who quotes them."""
    return [
        Warning(
            f"The source {source.name!r}: nothing tells which objects quote a {quoted.__name__}, "
            "one of its depends_on, so they never follow it.",
            hint="Give the model a relation (for a GenericForeignKey that is a GenericRelation), "
            "or write get_affected(instance).",
            obj=source,
            id="ai_answers.W022",
        )
        for source in registered()
        if type(source).get_affected is Source.get_affected
        for quoted in source.depends_on
        if isinstance(quoted, ModelBase) and not relations_to(quoted, source.model)
    ]


def _lists_its_folder(source: Source) -> bool:
    """Whether the source reads a folder the way ``DirectorySource`` does, not its own way."""
    return (
        isinstance(source, DirectorySource)
        and type(source).get_ids is DirectorySource.get_ids
        and hasattr(source, "path")
    )


def _wrong_fields(source: Source) -> Iterator[tuple[str, str]]:
    names = source.fields
    if names is not None and not _are_names(names):
        yield (
            f"its fields must be a list of names, not {names!r}.",
            f"Write fields = [{names!r}]." if isinstance(names, str) else "Name each as a string.",
        )
    elif not names:
        if not _writes_text(source):
            yield (
                "its fields are empty and it has no get_content of its own, so there is no text.",
                "List the fields, properties or methods that visitors may read about: "
                "fields = ['title', 'body'].",
            )
    elif source.model is not None:
        yield from _unknown_fields(source.model, source)


def _are_names(value: Any) -> bool:
    is_listed = isinstance(value, Collection) and not isinstance(value, str)
    return is_listed and all(isinstance(name, str) for name in value)


def _writes_text(source: Source) -> bool:
    """Whether the source overrides what makes documents out of ``fields``."""
    return any(
        getattr(type(source), method) is not getattr(Source, method)
        for method in ("get_content", "documents")
    )


def _unknown_fields(model: type[Model], source: Source) -> Iterator[tuple[str, str]]:
    # ``get_…_display`` is what the text is made with where there is one.
    unknown = [name for name in source.fields if not _has(model, name, f"get_{name}_display")]
    if not unknown or _has(model, "__getattr__"):  # such a model may have any attribute
        return
    added = _added_by_queryset(source)
    if added is None:
        return
    for name in unknown:
        if name not in added:
            yield (
                f"its fields name {name!r}, which {model.__name__} does not have.",
                _suggestion(name, [field.name for field in model._meta.get_fields()]),
            )


def _has(model: type[Model], *names: str) -> bool:
    """Whether instances have an attribute of one of ``names``.

    Not by ``hasattr``: that asks descriptors, and finds what only the class has.
    """
    return any(name in cls.__dict__ for cls in model.__mro__ for name in names)


def _added_by_queryset(source: Source) -> set[str] | None:
    """Return what the queryset annotates its objects with; ``None`` when it cannot be asked.

    Only built, not run; but a site's method may query all the same, and a check may run before
    the first migration.
    """
    try:
        query: Any = source.get_queryset().query
        return {*query.annotations, *query.extra}
    except Exception:
        return None


def _suggestion(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"Did you mean {close[0]!r}?"
    return "Name fields, properties, or methods without arguments."
