"""What was spent each day, to look at."""

from __future__ import annotations

from django.contrib import admin

from ..models import BudgetDay
from .read_only import ReadOnlyAdmin


@admin.register(BudgetDay)
class BudgetDayAdmin(ReadOnlyAdmin):
    list_display = ("day", "key", "questions", "tokens")
    list_filter = ("day",)
    search_fields = ("key",)
    date_hierarchy = "day"
    ordering = ("-day", "key")
