"""Runs, to look at: how they went, not what was said (that is the turn's)."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from ..models import Run
from .logs import LOG, log_link
from .read_only import ReadOnlyAdmin


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = (
        "id",
        "status",
        "phase",
        "error_code",
        "agent",
        "language",
        "created_at",
        "finished_at",
        "worker",
    )
    list_filter = ("status", "error_code", "format", "language", "created_at")
    list_select_related = ("turn__conversation__agent",)
    search_fields = ("=id", "=turn__conversation__id", "=request_id")
    date_hierarchy = "created_at"
    ordering = ("-created_at",)
    fields = (
        "id",
        "turn",
        "status",
        "phase",
        "error_code",
        "notes",
        "sequence",
        "format",
        "language",
        "worker",
        "stop_requested",
        "created_at",
        "heartbeat_at",
        "last_read_at",
        "finished_at",
    )

    def get_fields(self, request, obj=None):
        return (*self.fields, "log") if request.user.has_perm(LOG) else self.fields

    @admin.display(description=_("run log"))
    def log(self, run: Run) -> str:
        return log_link(run.turn, site=self.admin_site)

    @admin.display(description=_("agent"))
    def agent(self, run: Run) -> str:
        return str(run.turn.conversation.agent)
