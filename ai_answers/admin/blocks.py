"""Blocks: where a visitor asks, reads the answer, and sees its sources."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ..models import Agent, AnswerBlock, QuestionBlock, SourcesBlock

MAX_SUGGESTIONS = 10
MAX_SUGGESTION_CHARS = 200


def site_path(value: str) -> str:
    """Return ``value`` if it is a path of this site; raise ``ValidationError`` otherwise.

    Browsers read ``\\`` as ``/`` and drop tabs and line breaks, so neither may be in it.
    """
    value = value.strip()
    plain = value.isprintable() and not set(value) & set("\\ ")
    if not plain or not value.startswith("/") or value.startswith("//"):
        raise ValidationError(
            _("“%(value)s” is not a path of this site. It must start with one “/”, as in /ask/."),
            params={"value": value},
        )
    if urlsplit(value).fragment:
        raise ValidationError(_("Leave out the part from “#” on; the question is put there."))
    return value


def suggestions(value: str) -> str:
    """Return the lines of ``value`` without blank and repeated ones, within the limits."""
    lines = list(dict.fromkeys(filter(None, (" ".join(ln.split()) for ln in value.splitlines()))))
    if len(lines) > MAX_SUGGESTIONS:
        raise ValidationError(
            _("At most %(most)s questions, not %(count)s."),
            params={"most": MAX_SUGGESTIONS, "count": len(lines)},
        )
    for number, line in enumerate(lines, start=1):
        if len(line) > MAX_SUGGESTION_CHARS:
            raise ValidationError(
                _("Question %(number)s has %(length)s characters; at most %(most)s are possible."),
                params={"number": number, "length": len(line), "most": MAX_SUGGESTION_CHARS},
            )
    return "\n".join(lines)


class AnswerBlockForm(forms.ModelForm):
    """Offers enabled agents only (D50); one that was switched off later stays visible."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "agent" in self.fields:
            field = self.fields["agent"]
            field.queryset = Agent.objects.filter(Q(enabled=True) | Q(pk=self.instance.agent_id))
            field.label_from_instance = _agent_label

    def clean_agent(self) -> Agent:
        agent = self.cleaned_data["agent"]
        if not agent.enabled:
            raise ValidationError(
                _("This agent is switched off. Choose another, or switch it on first.")
            )
        return agent


def _agent_label(agent: Agent) -> str:
    return agent.name if agent.enabled else gettext("%s (switched off)") % agent.name


class TargetForm(forms.ModelForm):
    """Lists every placed Answer block by name and slug (S114): names need not be unique."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "target" in self.fields:
            self.fields["target"].label_from_instance = lambda block: f"{block.name} ({block.slug})"


class QuestionBlockForm(TargetForm):
    def clean_target_url(self) -> str:
        value = self.cleaned_data["target_url"]
        return site_path(value) if value else ""

    def clean_suggested_questions(self) -> str:
        return suggestions(self.cleaned_data["suggested_questions"])


class BlockAdmin(admin.ModelAdmin):
    """What the three kinds of block share: slug from the name, and the tag to copy."""

    tag = ""
    search_fields = ("name", "slug")

    def get_prepopulated_fields(self, request, obj=None):
        return {"slug": ("name",)} if obj is None else {}

    @admin.display(description=_("template tag"))
    def template_tag(self, block: Any) -> str:
        if block.pk is None:
            return gettext("Known as soon as the block is saved.")
        return f'{{% {self.tag} "{block.slug}" %}}'


@admin.register(AnswerBlock)
class AnswerBlockAdmin(BlockAdmin):
    tag = "ai_answer"
    form = AnswerBlockForm
    list_display = ("name", "slug", "agent", "template_tag", "allow_follow_up", "show_references")
    list_filter = ("agent",)
    list_select_related = ("agent",)
    readonly_fields = ("template_tag", "shown_dom_id")
    fieldsets = (
        (None, {"fields": ("name", "slug", "agent", "template_tag", "shown_dom_id")}),
        (
            _("What it shows"),
            {
                "fields": (
                    "allow_follow_up",
                    "show_references",
                    "references_label",
                    "show_feedback",
                    "empty_message",
                )
            },
        ),
    )

    @admin.display(description=_("DOM id"))
    def shown_dom_id(self, block: AnswerBlock) -> str:
        if block.pk is None:
            return gettext("Known as soon as the block is saved.")
        return block.dom_id


@admin.register(QuestionBlock)
class QuestionBlockAdmin(BlockAdmin):
    tag = "ai_question"
    form = QuestionBlockForm
    list_display = ("name", "slug", "target", "target_url", "template_tag")
    list_filter = ("target",)
    list_select_related = ("target",)
    readonly_fields = ("template_tag",)
    fields = (
        "name",
        "slug",
        "template_tag",
        "target",
        "target_url",
        "placeholder",
        "submit_label",
        "suggested_questions",
    )


@admin.register(SourcesBlock)
class SourcesBlockAdmin(BlockAdmin):
    tag = "ai_sources"
    form = TargetForm
    list_display = ("name", "slug", "target", "template_tag")
    list_filter = ("target",)
    list_select_related = ("target",)
    readonly_fields = ("template_tag",)
    fields = ("name", "slug", "template_tag", "target", "label")
