"""Conversations, turns and feedback, to look at; text takes the permission ``view_turn``."""

from __future__ import annotations

import json

from django.contrib import admin
from django.db.models import Count
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ..models import Conversation, Feedback, Turn
from ..permissions import may_see_traces
from .logs import LOG, log_link
from .read_only import ReadOnlyAdmin, ReadOnlyMixin, excerpt


class TurnInline(ReadOnlyMixin, admin.StackedInline):
    """Django leaves the inline out for those who lack ``view_turn``."""

    model = Turn
    fields = ("question", "answer", "outcome", "created_at", "finished_at")
    readonly_fields = fields
    extra = 0
    can_delete = False
    show_change_link = True


@admin.register(Conversation)
class ConversationAdmin(ReadOnlyAdmin):
    list_display = ("id", "agent", "owner", "turn_count", "created_at", "expires_at")
    list_filter = ("agent", ("owner", admin.EmptyFieldListFilter), "created_at")
    list_select_related = ("agent", "owner")
    search_fields = ("=id",)
    date_hierarchy = "created_at"
    fields = ("id", "agent", "owner", "created_at", "expires_at")
    inlines = [TurnInline]

    def get_queryset(self, request):
        return super().get_queryset(request).annotate(turn_count=Count("turns"))

    @admin.display(description=_("turns"), ordering="turn_count")
    def turn_count(self, conversation: Conversation) -> int:
        return conversation.turn_count


@admin.register(Turn)
class TurnAdmin(ReadOnlyAdmin):
    list_display = (
        "short_question",
        "outcome",
        "agent",
        "position",
        "tokens",
        "invalid_citations",
        "created_at",
    )
    list_filter = ("outcome", "conversation__agent", "created_at", "feedback__rating")
    list_select_related = ("conversation__agent",)
    search_fields = ("question", "answer", "=conversation__id", "=trace_id")
    search_help_text = _("Words of question or answer, or the id of a conversation or trace.")
    date_hierarchy = "created_at"
    ordering = ("-created_at",)
    fields = (
        "conversation",
        "position",
        "question",
        "answer",
        "outcome",
        "shown_references",
        "shown_sources",
        "invalid_citations",
        "shown_support",
        "tokens",
        "cost",
        "created_at",
        "finished_at",
    )

    def get_fields(self, request, obj=None):
        log = ("log",) if request.user.has_perm(LOG) else ()
        traces = ("log_id", "trace_id") if may_see_traces(request.user) else ()
        return (*self.fields, *log, *traces)

    @admin.display(description=_("run log"))
    def log(self, turn: Turn) -> str:
        return log_link(turn, site=self.admin_site)

    @admin.display(description=_("question"))
    def short_question(self, turn: Turn) -> str:
        return excerpt(turn.question)

    @admin.display(description=_("agent"))
    def agent(self, turn: Turn) -> str:
        return str(turn.conversation.agent)

    @admin.display(description=_("tokens"))
    def tokens(self, turn: Turn) -> int | None:
        return turn.usage.get("total_tokens")

    @admin.display(description=_("references"))
    def shown_references(self, turn: Turn) -> str:
        # Addresses stay text: what a link leads to is not checked here.
        rows = ((r.get("index"), r.get("label"), r.get("url")) for r in turn.references)
        return format_html_join("\n", "<div>[{}] {} <code>{}</code></div>", rows) or "-"

    @admin.display(description=_("support"))
    def shown_support(self, turn: Turn) -> str:
        """The verdict, and below it each sentence with its own."""
        rows = (
            (row["verdict"], row["text"], ", ".join(row.get("missing", ())))
            for row in turn.support.get("sentences", ())
        )
        sentences = format_html_join("\n", "<div>{}: {} <code>{}</code></div>", rows)
        return format_html("{}{}", turn.support.get("verdict", "-"), sentences)

    @admin.display(description=_("all numbered sources"))
    def shown_sources(self, turn: Turn) -> str:
        if not turn.sources:
            return "-"
        text = json.dumps(turn.sources, ensure_ascii=False, indent=1)
        return format_html("<details><summary>{}</summary><pre>{}</pre></details>",
                           gettext("Show what the model was given"), text)  # fmt: skip


@admin.register(Feedback)
class FeedbackAdmin(ReadOnlyAdmin):
    list_display = ("rating", "short_comment", "agent", "turn_link", "user", "updated_at")
    list_filter = ("rating", "turn__conversation__agent", "updated_at")
    list_select_related = ("turn__conversation__agent", "user")
    search_fields = ("comment",)
    date_hierarchy = "updated_at"
    fields = ("turn_link", "rating", "reasons", "comment", "user", "created_at", "updated_at")

    @admin.display(description=_("comment"))
    def short_comment(self, feedback: Feedback) -> str:
        return excerpt(feedback.comment)

    @admin.display(description=_("agent"))
    def agent(self, feedback: Feedback) -> str:
        return str(feedback.turn.conversation.agent)

    @admin.display(description=_("turn"))
    def turn_link(self, feedback: Feedback) -> str:
        address = reverse(f"{self.admin_site.name}:ai_answers_turn_change", args=[feedback.turn_id])
        return format_html('<a href="{}">{}</a>', address, feedback.turn_id)
