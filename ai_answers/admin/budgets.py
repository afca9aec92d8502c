"""What was spent each day, to look at."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ..models import BudgetDay
from .read_only import ReadOnlyAdmin


@admin.register(BudgetDay)
class BudgetDayAdmin(ReadOnlyAdmin):
    list_display = ("day", "whose", "questions", "tokens", "reserved")
    list_filter = ("day",)
    search_fields = ("key",)
    date_hierarchy = "day"
    ordering = ("-day", "key")
    fields = ("day", "whose", "questions", "tokens", "reserved")
    readonly_fields = ("whose",)

    @admin.display(description=_("whose"), ordering="key")
    def whose(self, row: BudgetDay) -> str:
        kind, _colon, name = row.key.partition(":")
        if kind == "agent":
            return gettext("agent %s") % name
        if kind == "visitor":
            # Enough of the hash to see that two days are one visitor's.
            return gettext("a visitor (%s)") % name[:8]
        return gettext("site") if kind == "site" else row.key
