"""Agents with their tools. One form, as it opens, makes an agent that can answer."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.options import IS_POPUP_VAR
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ..checks.database import agent_problems, tool_names
from ..checks.scores import kind_for, tool_arguments, tool_problems
from ..checks.settings import alias_entries
from ..models import Agent, AgentTool


def _choices(names: Any, current: str, *, empty: str | None = None) -> list[tuple[str, str]]:
    """Make the options of a select; a saved name that is gone stays visible, marked as such."""
    options = [] if empty is None else [("", empty)]
    options += [(name, name) for name in names]
    if current and current not in names:
        options.append((current, gettext("%s (no longer there)") % current))
    return options


def _first_choice(aliases: list[str]) -> str:
    return "default" if "default" in aliases or not aliases else aliases[0]


def _check_choice(value: str, names: Any) -> str:
    if value and value not in names:
        raise ValidationError(
            _("“%(name)s” is no longer there. Choose another."), params={"name": value}
        )
    return value


class AgentForm(forms.ModelForm):
    """The aliases are read from the settings each time the form is made."""

    chat_model = forms.ChoiceField(
        label=_("Chat model"), help_text=_("The aliases of AI_ANSWERS['CHAT_MODELS'].")
    )

    class Meta:
        model = Agent
        fields = "__all__"  # noqa: DJ007 - the admin's fieldsets name them
        labels = {
            "max_references": _("Sources per search, at most"),
            "max_history_turns": _("Earlier turns the model sees (0: all)"),
        }
        help_texts = {
            "groups": _("Only for access by groups; without it the choice here changes nothing."),
            "max_history_turns": "",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "chat_model" in self.fields:  # not for those who may only look
            aliases = list(alias_entries("CHAT_MODELS"))
            saved = self.instance.chat_model if self.instance.pk else ""
            self.fields["chat_model"].choices = _choices(aliases, saved)
            self.fields["chat_model"].initial = _first_choice(aliases)

    def clean_chat_model(self) -> str:
        return _check_choice(self.cleaned_data["chat_model"], alias_entries("CHAT_MODELS"))

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if data.get("access") == Agent.Access.GROUPS and not data.get("groups"):
            self.add_error("groups", _("Choose at least one group, or nobody may ask."))
        return data


class AgentToolForm(forms.ModelForm):
    tool = forms.ChoiceField(
        label=_("Tool"),
        required=False,
        help_text=_("“search” searches an index; the others are registered by this site."),
    )
    index = forms.ChoiceField(
        label=_("Index"),
        required=False,
        help_text=_("What “search” searches. A question cannot choose another."),
    )

    class Meta:
        model = AgentTool
        fields = (
            "tool",
            "index",
            "amount",
            "min_score",
            "is_source",
            "max_results",
            "arguments",
            "order",
        )
        widgets = {"arguments": forms.Textarea(attrs={"rows": 2, "cols": 60})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        saved = self.instance if self.instance.pk else AgentTool(tool="")
        if "tool" in self.fields:
            self.fields["tool"].choices = _choices(tool_names(), saved.tool, empty="---------")
            self.fields["index"].choices = _choices(
                list(alias_entries("INDEXES")), saved.index, empty="---------"
            )
        if "arguments" in self.fields and (takes := tool_arguments(saved.tool)):
            field = self.fields["arguments"]
            field.help_text = format_html(
                "{}<br>{}", field.help_text, gettext("This tool takes: %s.") % takes
            )

    def has_changed(self) -> bool:
        # A new row that was prefilled and not touched is meant to be saved: Django would drop it.
        # One whose tool was emptied is not meant.
        if self.instance.pk is None and self.is_bound:
            has_tool = bool(self.data.get(self.add_prefix("tool")))
            return has_tool or bool(set(self.changed_data) - {"tool", "index"})
        return super().has_changed()

    def clean_tool(self) -> str:
        if not (tool := self.cleaned_data["tool"]):
            raise ValidationError(_("Choose a tool."))
        return _check_choice(tool, tool_names())

    def clean_index(self) -> str:
        return _check_choice(self.cleaned_data["index"], alias_entries("INDEXES"))

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if data.get("tool") == AgentTool.SEARCH:
            if "index" in data and not data["index"]:
                self.add_error(
                    "index", _("Choose an index: without one the agent answers nothing.")
                )
            if data.get("arguments"):
                self.add_error(
                    "arguments", _("“search” has none to set: index and amount are fields here.")
                )
            data["is_source"] = False  # its hits are sources anyway
        elif data.get("tool"):
            data["index"] = ""  # only the search tool has one
            for problem in tool_problems(data["tool"], data.get("arguments")):
                self.add_error("arguments", problem)
        return data

    def save(self, commit: bool = True) -> AgentTool:  # noqa: FBT001, FBT002 - Django's
        # A lowest score means something for the kind of score it was chosen for alone (R14).
        if {"min_score", "index"} & set(self.changed_data):
            self.instance.score_kind = kind_for(self.instance)
        return super().save(commit)


class AgentToolFormSet(forms.BaseInlineFormSet):
    """Starts a new agent with one search tool over the default index."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        instance = kwargs.get("instance")
        if instance is None or instance.pk is None:
            index = _first_choice(list(alias_entries("INDEXES")))
            kwargs.setdefault("initial", [{"tool": AgentTool.SEARCH, "index": index}])
        super().__init__(*args, **kwargs)


class AgentToolInline(admin.StackedInline):
    model = AgentTool
    form = AgentToolForm
    formset = AgentToolFormSet
    fieldsets = (
        (
            None,
            {"fields": (("tool", "order"), ("index", "amount", "min_score"))},
        ),
        (
            _("A tool of this site"),
            {"fields": (("is_source", "max_results"), "arguments"), "classes": ["collapse"]},
        ),
    )

    def get_extra(self, request, obj=None, **kwargs) -> int:
        return 1 if obj is None else 0


@admin.register(Agent)
class AgentAdmin(admin.ModelAdmin):
    form = AgentForm
    inlines = [AgentToolInline]
    list_display = ("name", "slug", "enabled", "is_usable", "access", "chat_model", "model_name")
    list_filter = ("enabled", "access", "chat_model")
    search_fields = ("name", "slug")
    filter_horizontal = ("groups",)
    readonly_fields = ("status",)
    actions = ["switch_on", "switch_off"]
    fieldsets = (
        (None, {"fields": ("name", "slug", "enabled", "status")}),
        (_("Who may ask"), {"fields": ("access", "groups")}),
        (_("What it says"), {"fields": ("instructions", "guidance", "no_answer_message")}),
        (
            _("Chat model"),
            {"fields": ("chat_model", "model_name", "temperature", "max_output_tokens")},
        ),
        (_("Sources"), {"fields": ("max_references", "reference_view_mode")}),
        (_("Reliability"), {"fields": ("strict", "grounded", "support_check")}),
        (
            _("Conversations"),
            {"fields": ("conversation_ttl", "max_history_turns", "feedback_enabled")},
        ),
    )

    def get_prepopulated_fields(self, request, obj=None):
        # A new name must not move the address of an agent that pages already use.
        return {"slug": ("name",)} if obj is None else {}

    def response_add(self, request, obj, post_url_continue=None):
        if IS_POPUP_VAR not in request.POST:
            if agent_problems(obj):
                self.message_user(request, self.status(obj), messages.WARNING)
            else:
                self.message_user(request, _next_step(obj, request.user), messages.INFO)
        return super().response_add(request, obj, post_url_continue)

    def get_queryset(self, request):
        return super().get_queryset(request).prefetch_related("tools")

    @admin.display(description=_("can answer"), boolean=True)
    def is_usable(self, agent: Agent) -> bool:
        return agent.enabled and not agent_problems(agent)

    @admin.display(description=_("status"))
    def status(self, agent: Agent) -> str:
        if agent.pk is None:
            return gettext("Ready as soon as it is saved with a search tool.")
        problems = agent_problems(agent)
        if problems:
            return gettext("Cannot answer. %s") % " ".join(problems)
        return gettext("Ready to answer.") if agent.enabled else gettext("Switched off.")

    @admin.action(description=_("Switch the chosen agents on"), permissions=["change"])
    def switch_on(self, request, queryset) -> None:
        self._switch(request, queryset, enabled=True)

    @admin.action(description=_("Switch the chosen agents off"), permissions=["change"])
    def switch_off(self, request, queryset) -> None:
        self._switch(request, queryset, enabled=False)

    def _switch(self, request, queryset, *, enabled: bool) -> None:
        for agent in queryset.exclude(enabled=enabled):
            agent.enabled = enabled
            agent.save(update_fields=["enabled", "updated_at"])
            self.log_change(request, agent, [{"changed": {"fields": ["enabled"]}}])
        self.message_user(
            request,
            gettext("The chosen agents are switched on.")
            if enabled
            else gettext("The chosen agents are switched off."),
        )


def _next_step(agent: Agent, user: Any) -> str:
    """Say who may ask the new agent, and what it takes before anyone can."""
    who = {
        Agent.Access.PUBLIC: _("Everyone may ask “%(agent)s”."),
        Agent.Access.AUTHENTICATED: _(
            "Signed-in users who have the permission “%(permission)s” may ask “%(agent)s”."
        ),
        Agent.Access.GROUPS: _(
            "Members of the chosen groups who have the permission “%(permission)s” may ask "
            "“%(agent)s”."
        ),
    }[agent.access]
    said = who % {"agent": agent.name, "permission": "Can ask questions"}
    step = gettext("Next, place it on a page with an answer block.")
    if not user.has_perm("ai_answers.add_answerblock"):
        return f"{said} {step}"
    url = f"{reverse('admin:ai_answers_answerblock_add')}?agent={agent.pk}"
    return format_html('{} <a href="{}">{}</a>', said, url, step)
