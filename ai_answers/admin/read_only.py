"""A model admin that shows and never edits."""

from __future__ import annotations

from django.contrib import admin
from django.utils.text import Truncator


class ReadOnlyMixin:
    """No adding and no changing; deleting is left to Django's delete permission.

    Works for a ``ModelAdmin`` and an inline. The saved text is what a visitor or a model wrote:
    it goes through Django's own readonly fields, which escape it.
    """

    def has_add_permission(self, request, obj=None) -> bool:
        return False

    def has_change_permission(self, request, obj=None) -> bool:
        return False


class ReadOnlyAdmin(ReadOnlyMixin, admin.ModelAdmin):
    pass


def excerpt(text: str) -> str:
    """Shorten a text to one line for a list."""
    return Truncator(" ".join(text.split())).chars(100)
