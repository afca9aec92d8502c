"""What was asked and answered: conversations, their turns, and feedback."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from .agents import Agent


class Conversation(models.Model):
    """An ordered list of turns with one owner and one agent (S14, S15).

    Without an owner it belongs to whoever holds its id (S21). Its owner's deletion deletes it,
    so that a private conversation never turns into one without an owner.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="conversations")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("owner"),
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(
        db_index=True, help_text=_("Until then a follow-up is possible; each turn moves it on.")
    )

    class Meta:
        verbose_name = _("conversation")
        verbose_name_plural = _("conversations")
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return str(self.id)


class Turn(models.Model):
    """One question and everything up to its final answer (D32)."""

    class Outcome(models.TextChoices):
        RUNNING = "", _("running")
        ANSWERED = "answered", _("answered")
        FALLBACK = "fallback", _("answered by a fallback model")
        NO_ANSWER = "no_answer", _("no answer")
        REFUSED = "refused", _("refused")
        STOPPED = "stopped", _("stopped")
        FAILED = "failed", _("failed")
        INTERRUPTED = "interrupted", _("interrupted")

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="turns")
    position = models.PositiveIntegerField(help_text=_("From 1."))
    question = models.TextField(_("question"))
    answer = models.TextField(_("answer"), blank=True, help_text=_("Markdown with [n] citations."))
    outcome = models.CharField(
        _("outcome"), max_length=20, choices=Outcome.choices, blank=True, default=""
    )
    references = models.JSONField(_("references"), default=list, blank=True)
    sources = models.JSONField(
        default=list, blank=True, help_text=_("All numbered sources, held for the next turn.")
    )
    usage = models.JSONField(default=dict, blank=True)
    cost = models.DecimalField(
        _("cost"),
        max_digits=16,
        decimal_places=8,
        null=True,
        blank=True,
        help_text=_("Of the model, in the currency of PRICES; empty where it has no price."),
    )
    invalid_citations = models.PositiveIntegerField(_("invalid citations"), default=0)
    support = models.JSONField(
        _("support"),
        default=dict,
        blank=True,
        help_text=_("How far its sources bear the answer, where the agent asks for that."),
    )
    log_id = models.CharField(max_length=100, null=True, blank=True)  # noqa: DJ001 - null: no log
    trace_id = models.CharField(max_length=100, null=True, blank=True)  # noqa: DJ001
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("turn")
        verbose_name_plural = _("turns")
        ordering = ["conversation", "position"]
        constraints = [
            # Two tabs that ask at once: the second cannot take the same place.
            models.UniqueConstraint(
                fields=["conversation", "position"], name="ai_answers_turn_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.conversation_id} · {self.position}"


class Feedback(models.Model):
    """One person's vote on one turn; a second vote replaces the first."""

    class Rating(models.TextChoices):
        POSITIVE = "positive", _("helpful")
        NEGATIVE = "negative", _("not helpful")

    turn = models.ForeignKey(Turn, models.CASCADE, related_name="feedback")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    visitor = models.CharField(max_length=80, editable=False, help_text=_("Hashed; one vote each."))
    rating = models.CharField(_("rating"), max_length=10, choices=Rating.choices)
    reasons = models.JSONField(_("reasons"), default=list, blank=True)
    comment = models.TextField(_("comment"), blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("feedback")
        verbose_name_plural = _("feedback")
        ordering = ["-updated_at"]
        constraints = [
            models.UniqueConstraint(fields=["turn", "visitor"], name="ai_answers_vote_once"),
        ]

    def __str__(self) -> str:
        return f"{self.rating} · {self.turn_id}"
