"""The run log, to look at: a list to find a run in, and a page that tells how it went.

``view_runlog`` shows how runs went, ``view_turn`` on top what was said in them. The page is put
together by ``explaining``, which is imported when somebody opens one.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ..models import Feedback, RunLog, Turn
from .read_only import ReadOnlyAdmin, excerpt

TEXT = "ai_answers.view_turn"
LOG = "ai_answers.view_runlog"


@admin.register(RunLog)
class RunLogAdmin(ReadOnlyAdmin):
    list_filter = (
        "outcome",
        "error_code",
        "run__turn__conversation__agent",
        "run__turn__feedback__rating",
        "created_at",
    )
    list_select_related = ("run__turn__conversation__agent",)
    date_hierarchy = "created_at"
    ordering = ("-created_at",)
    fields = ()

    class Media:
        css = {"all": ["ai_answers/admin/try.css", "ai_answers/admin/log.css"]}

    def get_list_display(self, request):
        question = ("question",) if request.user.has_perm(TEXT) else ()
        return (
            "created_at",
            *question,
            "result",
            "cited",
            "total_seconds",
            "tokens",
            "votes",
            "agent",
        )

    def get_search_fields(self, request):
        ids = ("=id", "=run__id", "=run__turn__conversation__id", "=run__turn__trace_id")
        words = ("run__turn__question", "run__turn__answer")
        return (*ids, *words) if request.user.has_perm(TEXT) else ids

    def get_queryset(self, request):
        entries = super().get_queryset(request).prefetch_related("run__turn__feedback")
        # Big, and the list shows nothing of it.
        return entries.defer("steps", "run__text", "run__parts", "run__last_frame")

    def change_view(self, request, object_id, form_url="", extra_context=None):
        entry = self.get_object(request, object_id)
        if entry is not None and self.has_view_permission(request, entry):
            extra_context = self._explained(request, entry) | (extra_context or {})
        return super().change_view(request, object_id, form_url, extra_context)

    def _explained(self, request: HttpRequest, entry: RunLog) -> dict[str, Any]:
        from .explaining import explained

        return {
            "title": gettext("Why did it say that?"),
            "subtitle": None,
            "links": self._links(request, entry),
            "explained": explained(
                entry,
                with_text=request.user.has_perm(TEXT),
                with_closed=request.user.has_perm("ai_answers.view_indexeddocument"),
            ),
        }

    def _links(self, request: HttpRequest, entry: RunLog) -> list[tuple[str, str]]:
        """Return address and text of what belongs to the entry, as far as it may be seen."""
        run = entry.run
        rows = {"conversation": run.turn.conversation, "turn": run.turn, "run": run}
        return [
            (
                reverse(f"{self.admin_site.name}:ai_answers_{name}_change", args=[row.pk]),
                row._meta.verbose_name,
            )
            for name, row in rows.items()
            if request.user.has_perm(f"ai_answers.view_{name}")
        ]

    @admin.display(description=_("question"))
    def question(self, entry: RunLog) -> str:
        return excerpt(entry.run.turn.question)

    @admin.display(description=_("outcome"), ordering="outcome")
    def result(self, entry: RunLog) -> str:
        outcome = entry.get_outcome_display()
        return f"{outcome} ({entry.error_code})" if entry.error_code else outcome

    @admin.display(description=_("agent"))
    def agent(self, entry: RunLog) -> str:
        return str(entry.run.turn.conversation.agent)

    @admin.display(description=_("sources cited"))
    def cited(self, entry: RunLog) -> str:
        cited = sum(source["index"] is not None for source in entry.sources)
        return gettext("%(cited)d of %(all)d") % {"cited": cited, "all": len(entry.sources)}

    @admin.display(description=_("tokens"))
    def tokens(self, entry: RunLog) -> int:
        return entry.input_tokens + entry.output_tokens

    @admin.display(description=_("feedback"))
    def votes(self, entry: RunLog) -> str:
        votes = {vote.rating for vote in entry.run.turn.feedback.all()}
        return ", ".join(str(label) for value, label in Feedback.Rating.choices if value in votes)


def log_link(turn: Turn, *, site: admin.AdminSite) -> str:
    """Return links to the log entries of the runs of ``turn``, or a dash."""
    entries = RunLog.objects.filter(run__turn=turn).order_by("created_at").only("pk")
    links = [
        format_html(
            '<a href="{}">{}</a>',
            reverse(f"{site.name}:ai_answers_runlog_change", args=[entry.pk]),
            gettext("Why did it say that?"),
        )
        for entry in entries
    ]
    return format_html(" ".join(["{}"] * len(links)), *links) if links else "-"
