"""Who answers: an agent, and the tools it may call."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _


class Agent(models.Model):
    """An answerer set up in the admin: instructions, chat model, tools, limits.

    Secrets and addresses of models live in settings; an agent only names an alias.
    """

    class Access(models.TextChoices):
        PUBLIC = "public", _("Everyone, without signing in")
        AUTHENTICATED = "authenticated", _("Signed-in users with the permission")
        GROUPS = "groups", _("Members of the chosen groups with the permission")

    name = models.CharField(_("name"), max_length=200)
    slug = models.SlugField(_("slug"), max_length=100, unique=True)
    enabled = models.BooleanField(
        _("provide answers with this agent"),
        default=True,
        help_text=_("An agent that is switched off answers no question."),
    )
    access = models.CharField(
        _("who may ask"), max_length=20, choices=Access.choices, default=Access.AUTHENTICATED
    )
    groups = models.ManyToManyField(Group, verbose_name=_("groups"), blank=True)

    instructions = models.TextField(
        _("instructions"),
        blank=True,
        help_text=_("Who the agent is and how it speaks. Comes first in the system prompt."),
    )
    guidance = models.TextField(
        _("guidance"),
        blank=True,
        help_text=_("Added behind the built-in rules on citing sources."),
    )
    no_answer_message = models.CharField(
        _("message when there is no answer"),
        max_length=500,
        blank=True,
        help_text=_("Empty: a short sentence that nothing was found."),
    )

    chat_model = models.CharField(
        _("chat model"),
        max_length=100,
        default="default",
        help_text=_("An alias of AI_ANSWERS['CHAT_MODELS']."),
    )
    model_name = models.CharField(
        _("model name"),
        max_length=200,
        blank=True,
        help_text=_("Overrides the model of the alias. Empty: the alias decides."),
    )
    temperature = models.FloatField(
        _("temperature"),
        null=True,
        blank=True,
        validators=[MinValueValidator(0), MaxValueValidator(2)],
    )
    max_output_tokens = models.PositiveIntegerField(
        _("output limit"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("Tokens one model call may write."),
    )

    reference_view_mode = models.SlugField(
        _("view mode of references"),
        max_length=100,
        default="teaser",
        help_text=_("Names the template of a source card."),
    )
    max_references = models.PositiveSmallIntegerField(
        _("most new sources per search"),
        default=5,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
    )
    strict = models.BooleanField(
        _("answer only from what was found"),
        default=False,
        help_text=_(
            "When the search finds nothing, the chat model is not asked: the message above is the "
            "answer."
        ),
    )
    grounded = models.BooleanField(
        _("mark answers without sources"),
        default=False,
        help_text=_("An answer that cites nothing says so below its text."),
    )
    support_check = models.BooleanField(
        _("compare answers with their sources"),
        default=False,
        help_text=_(
            "Each sentence with what it cites: its numbers, dates, names and words must be there. "
            "References quote what supports them, and an answer with doubtful sentences says so."
        ),
    )
    feedback_enabled = models.BooleanField(_("ask for feedback"), default=True)
    conversation_ttl = models.PositiveIntegerField(
        _("conversation lifetime"),
        default=3600,
        validators=[MinValueValidator(60)],
        help_text=_("Seconds after the last turn in which a follow-up is possible."),
    )
    max_history_turns = models.PositiveSmallIntegerField(
        _("earlier turns given to the model"), default=0, help_text=_("0: all of them.")
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("agent")
        verbose_name_plural = _("agents")
        ordering = ["name"]
        permissions = [
            ("use_ai_answers", "Can ask questions"),
            ("view_ai_answers_traces", "Can see log and trace ids of answers"),
        ]

    def __str__(self) -> str:
        return self.name


class AgentTool(models.Model):
    """One tool an agent may call, with the arguments the site forces on it (T7)."""

    SEARCH = "search"

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="tools")
    tool = models.CharField(
        _("tool"),
        max_length=100,
        default=SEARCH,
        help_text=_("“search”, or the name of a registered tool."),
    )
    index = models.CharField(
        _("index"),
        max_length=100,
        blank=True,
        help_text=_(
            "The search tool's index, an alias of AI_ANSWERS['INDEXES']. "
            "A question cannot choose another."
        ),
    )
    amount = models.PositiveSmallIntegerField(
        _("amount"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(200)],
        help_text=_("Chunks one search call considers. Empty: 5."),
    )
    min_score = models.FloatField(
        _("lowest score"),
        null=True,
        blank=True,
        help_text=_(
            "Hits below it are dropped. Depends on the kind of score; "
            "leave it empty for full-text search."
        ),
    )
    score_kind = models.CharField(
        _("kind of score"),
        max_length=100,
        blank=True,
        editable=False,
        help_text=_("What the lowest score was chosen for."),
    )
    is_source = models.BooleanField(
        _("rows are sources"),
        default=False,
        help_text=_("The objects that this tool lists can be cited, all of them."),
    )
    max_results = models.PositiveSmallIntegerField(
        _("most rows"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
        help_text=_("Objects a source tool may list. Empty: 50."),
    )
    arguments = models.JSONField(
        _("arguments"),
        default=dict,
        blank=True,
        help_text=_(
            "What this agent may not choose, by the name of the argument: "
            '{"branch": {"value": "harbour"}, "kind": {"choices": ["talk", "tour"]}, '
            '"limit": {"hidden": true}}.'
        ),
    )
    order = models.PositiveSmallIntegerField(_("order"), default=0)

    class Meta:
        verbose_name = _("tool")
        verbose_name_plural = _("tools")
        ordering = ["order", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["agent", "tool"], name="ai_answers_tool_once"),
        ]

    def __str__(self) -> str:
        return self.tool
