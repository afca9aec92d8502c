"""The text of an object from a list of its fields: the default of ``Source.get_content``.

In: an object and names. Out: Markdown: prose as it is, short values behind their label ("Price:
4 euros"). Empty values, and the title, which every chunk carries anyway, are left out. Test it
with any object that has attributes.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Sequence, Set, ValuesView
from inspect import getattr_static
from typing import Any

from django.core.exceptions import FieldDoesNotExist, ObjectDoesNotExist
from django.db.models import Manager, Model, QuerySet
from django.db.models.fields.related_descriptors import (
    ForwardManyToOneDescriptor,
    ReverseOneToOneDescriptor,
)
from django.utils import formats, timezone
from django.utils.encoding import force_str
from django.utils.text import capfirst

from ..exceptions import ConfigurationError
from .html import html_to_markdown

SHORT = 80
"""Longest value, in characters, that a label stands before."""
COLLECTIONS = (Sequence, Set, QuerySet, ValuesView, Iterator)
RELATIONS = (ForwardManyToOneDescriptor, ReverseOneToOneDescriptor)


def labelled_fields(
    obj: Any, names: Iterable[str], *, html_fields: Iterable[str] = (), title: str = ""
) -> str:
    """Return the values of ``names`` as Markdown, in their order; not one that is the ``title``.

    Raises ``ConfigurationError`` for a name the object does not have.
    """
    texts = []
    for name in names:
        text = value_text(obj, name)
        if name in html_fields:
            text = html_to_markdown(text).text
        if text.strip():
            texts.append((label(obj, name), text.strip()))
    if len(texts) == 1:
        return texts[0][1]
    texts = [pair for pair in texts if pair[1] != title.strip()] or texts
    return "\n\n".join(_labelled(*pair) for pair in texts)


def value_text(obj: Any, name: str) -> str:
    """Return the value of field, property or method ``name`` as a reader would see it.

    What a property or method raises is passed on. Raises ``ConfigurationError`` for a name that
    ``obj`` does not have.
    """
    value = getattr(obj, f"get_{name}_display", None)
    if value is None:
        value = _value(obj, name)
    if isinstance(value, Manager):  # callable as well, so it comes first
        value = value.all()
    elif isinstance(value, Callable):
        value = value()
    return _text(value)


def label(obj: Any, name: str) -> str:
    """Return the field's verbose name in the active language, or the name in words."""
    if isinstance(obj, Model):
        try:
            return capfirst(force_str(obj._meta.get_field(name).verbose_name))
        except (FieldDoesNotExist, AttributeError):
            pass
    return capfirst(name.replace("_", " ").strip())


def _labelled(label: str, text: str) -> str:
    # Prose speaks for itself, and words in front of it would be quoted with it; a structure
    # such as a list or a heading would be spoilt by them.
    return text if "\n" in text or len(text) > SHORT else f"{label}: {text}"


def _value(obj: Any, name: str) -> Any:
    declared = getattr_static(obj, name, None)
    try:
        return getattr(obj, name)
    except ObjectDoesNotExist:
        if isinstance(declared, RELATIONS):
            return None  # an AttributeError too, where nothing is at the other end of a one-to-one
        raise
    except AttributeError:
        if declared is not None:
            raise  # from inside a property
        raise ConfigurationError(
            f"{type(obj).__name__} has no field, property or method {name!r}; "
            "correct the 'fields' of its source."
        ) from None


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes | bytearray | memoryview):
        raise TypeError("Bytes are no text; take the field out of the 'fields' of its source.")
    if isinstance(value, datetime.datetime) and timezone.is_aware(value):
        value = timezone.localtime(value)
    if isinstance(value, bool | int | float | datetime.date | datetime.time):
        return force_str(formats.localize(value, use_l10n=True))
    # Not all that can be iterated: a file would give its bytes, a lazy text its letters.
    if isinstance(value, COLLECTIONS) and not isinstance(value, str):
        return ", ".join(filter(None, map(_text, value)))
    return force_str(value)
