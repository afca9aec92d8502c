"""What a site declares about a kind of content: ``Source`` and its open form ``PublicSource``.

In: objects of one model (or files, see ``directories``). Out: ``Document`` values for the index,
and live objects with title, URL and permission for references. Nothing is readable unless the
site says so: ``can_view`` has to be written, ``fields`` has to be listed.
To test one, call its methods; only ``get_ids`` and ``get_objects`` touch the database.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db.models import IntegerField, Model, QuerySet
from django.utils import translation
from django.utils.text import slugify

from ..exceptions import ConfigurationError
from ..values import Asker, Document, ObjectKey
from .fields import labelled_fields

LONGEST_TITLE = 300
"""Characters; each chunk carries the title, and some models return their text for it."""


class Source(ABC):
    """One kind of content that answers may be written from.

    Subclass it, list ``fields``, say who may see an object in ``can_view``, and register it.
    Methods that take a ``language`` get one of ``get_languages(obj)``.
    """

    name: str = ""
    """The ``entity_type`` of its objects; ``register`` sets ``app_label.model``."""
    model: type[Model] | None = None
    """Set by ``register``; ``None`` for what is not a model."""
    fields: ClassVar[list[str]] = []
    """Fields, properties or methods without arguments that make up the text. Never "all"."""
    html_fields: ClassVar[list[str]] = []
    """Those of ``fields`` that hold HTML; the others are taken as Markdown or plain text."""

    repeated_anchor: ClassVar[str] = "{anchor}-{number}"
    """The id of the second "Fees" on a page, ``number`` being 1: ``fees-1`` as GitHub and
    markdown-it-anchor write it; Python-Markdown and MkDocs want ``{anchor}_{number}``."""

    depends_on: ClassVar[list[type[Model]]] = []
    """Models the texts quote: when an object of theirs changes, ``get_affected`` is asked."""
    changed_field: ClassVar[str] = ""
    """Name of a field that holds when an object was last changed; ``--since`` asks it."""
    version: ClassVar[str] = ""
    """Change it when the text of unchanged objects has become another, such as by a new template:
    the index is stale then."""

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__qualname__} {self.name!r}>"

    def get_queryset(self) -> QuerySet:
        """Return what may be indexed at all, as it is now: published, not expired …

        Called for every search as well: an object that has left it is never shown.
        It is filtered further, so it must not be sliced.
        """
        if self.model is None:
            raise NotImplementedError(f"{self!r} has no model; write get_ids and get_objects.")
        return self.model._default_manager.all()

    @abstractmethod
    def can_view(self, asker: Asker, obj: Any) -> bool:
        """Return whether ``asker`` may read ``obj`` now. Asked before any use of its text."""

    def access_tags(self, obj: Any) -> set[str]:
        """Return tags of which an asker needs one to find ``obj``; empty: no tag is needed.

        They narrow the search itself, so a page of secrets costs no search its hits. They never
        open anything: ``can_view`` has the last word.
        """
        return set()

    def get_languages(self, obj: Any) -> list[str]:
        """Return the codes of the languages ``obj`` exists in; ``""`` is one not known."""
        return [""]

    def get_title(self, obj: Any, language: str) -> str:
        with in_language(language):
            return str(obj)

    def get_url(self, obj: Any, language: str) -> str:
        """Return the path or absolute URL of the object's page; ``""`` when it has none."""
        if not hasattr(obj, "get_absolute_url"):
            return ""
        with in_language(language):
            return obj.get_absolute_url() or ""

    def get_content(self, obj: Any, language: str) -> str:
        """Return the text as Markdown. Default: ``fields``, short values behind their labels."""
        with in_language(language):
            title = str(self.get_title(obj, language) or "")
            return labelled_fields(obj, self.fields, html_fields=self.html_fields, title=title)

    def get_anchor(self, heading: str) -> str:
        """Return the ``id`` that ``heading`` has on the page; ``""`` when it has none."""
        return slugify(heading, allow_unicode=True)

    def get_anchors(self, headings: Sequence[str]) -> list[str]:
        """Return the ids of all headings of a page, in order; an empty one where there is none.

        Default: ``get_anchor`` of each, a repeated one with ``repeated_anchor``. Headings that
        say their own id (``## Fees {#fees}``, HTML) are not among them.
        """
        anchors: list[str] = []
        taken: set[str] = set()
        repeats: dict[str, int] = {}
        for heading in headings:
            base = anchor = self.get_anchor(heading)
            while anchor and anchor in taken:
                repeats[base] = repeats.get(base, 0) + 1
                anchor = self.repeated_anchor.format(anchor=base, number=repeats[base])
            taken.add(anchor)
            anchors.append(anchor)
        return anchors

    def get_ids(self) -> list[str]:
        """Return the ids of all objects to index, in a stable order."""
        return [str(pk) for pk in self.get_queryset().order_by("pk").values_list("pk", flat=True)]

    def get_objects(self, ids: Iterable[str]) -> dict[str, Any]:
        """Return those of ``ids`` that exist now, by id; one query."""
        pks = []
        for entity_id in ids:
            try:
                pks.append(key_of(self.model, entity_id))
            except (ValidationError, ValueError, TypeError):
                continue  # such as from an index written when the key was of another type
        if not pks:
            return {}
        return {str(obj.pk): obj for obj in self.get_queryset().filter(pk__in=pks)}

    def get_changed_since(self, moment: datetime.datetime) -> list[str]:
        """Return the ids of the objects that changed at or after ``moment``."""
        if not self.changed_field or self.model is None:
            raise ConfigurationError(
                f"{self!r} cannot tell what has changed since then; set changed_field to a field "
                "that holds the time of the last change, or write get_changed_since."
            )
        # Not get_queryset(): what has left it since is to be taken out.
        changed = self.model._base_manager.filter(**{f"{self.changed_field}__gte": moment})
        return [str(pk) for pk in changed.order_by("pk").values_list("pk", flat=True)]

    def get_affected(self, instance: Model) -> Iterable[Any]:
        """Return the ids of objects whose texts quote ``instance``, one of ``depends_on``.

        Default: those with a relation to it, in either direction.
        """
        pks: dict[Any, None] = {}
        for name in relations_to(type(instance), self.model):
            # Not get_queryset(): what has left it since is to be taken out.
            objects = self.model._base_manager.using(instance._state.db).filter(**{name: instance})
            pks.update(dict.fromkeys(objects.order_by("pk").values_list("pk", flat=True)))
        return [str(pk) for pk in pks]

    def get_id(self, obj: Any) -> str:
        if self.model is None:
            return str(obj.pk)
        # An heir of two models has a key in the table of each.
        return str(getattr(obj, self.model._meta.pk.attname))

    def documents(self, obj: Any) -> Iterator[Document]:
        """Yield ``obj`` once in each of its languages; a language without text is left out."""
        key = ObjectKey(self.name, str(self.get_id(obj)))
        tags = frozenset(texts_of(self.access_tags(obj)))
        for language in dict.fromkeys(texts_of(self.get_languages(obj))):
            with in_language(language):
                text = storable(self.get_content(obj, language))
                title = storable(self.get_title(obj, language))[:LONGEST_TITLE]
                url = storable(self.get_url(obj, language))
            if text.strip():
                yield Document(
                    key=key, language=language, title=title, url=url, text=text, access_tags=tags
                )


class PublicSource(Source):
    """A source whose every object anyone may read."""

    def can_view(self, asker: Asker, obj: Any) -> bool:
        return True


def relations_to(target: type[Model], model: type[Model] | None) -> list[str]:
    """Return the names by which a query on ``model`` reaches objects of ``target``."""
    return [
        field.name
        for field in (model._meta.get_fields() if model is not None else ())
        if field.is_relation
        and field.related_model
        and issubclass(target, field.related_model._meta.concrete_model)
    ]


def key_of(model: type[Model], entity_id: str) -> Any:
    """Return the primary key that ``entity_id`` writes; an error when no object can have it."""
    field = model._meta.pk
    while field.is_relation:
        field = field.target_field
    key = field.to_python(entity_id)
    if isinstance(field, IntegerField):
        field.run_validators(key)  # SQLite raises on what is beyond its range
    if isinstance(key, str) and key != storable(key):
        raise ValueError(f"No database takes {key!r}.")
    return key


def texts_of(values: Any) -> list[str]:
    """Return tags or languages as text: ``None`` is empty, a text alone is one of them."""
    values = [values] if isinstance(values, str) else values
    return ["" if value is None else str(value) for value in values]


def storable(value: Any) -> str:
    """Return ``value`` as text that every database takes: no NUL, no half of a character."""
    text = str(value or "")
    if "\0" in text:
        text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode(errors="replace").decode()
    return text


def in_language(language: str):
    """Activate ``language``; the empty one leaves the active one alone."""
    return translation.override(language or translation.get_language())
