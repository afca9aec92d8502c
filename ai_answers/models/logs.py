"""The run log: one entry a run, to answer "why did it say that?"."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from .conversations import Turn
from .runs import Run


class RunLog(models.Model):
    """How one run came to its end (S69, T23).

    Written once, when the run has ended, and gone with its conversation or after ``LOG_DAYS``.
    Texts of prompts, tools and model are in it only where ``LOG_TEXT`` says so.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    run = models.OneToOneField(
        Run, models.CASCADE, related_name="log", editable=False, verbose_name=_("run")
    )
    outcome = models.CharField(_("outcome"), max_length=20, choices=Turn.Outcome.choices)
    error_code = models.CharField(_("error code"), max_length=50, blank=True)
    error = models.TextField(
        _("error"), blank=True, help_text=_("Type and place of what ended it, without its message.")
    )
    chat_model = models.CharField(_("chat model"), max_length=100, blank=True)
    model_name = models.CharField(_("name of the model"), max_length=200, blank=True)
    search_seconds = models.FloatField(_("search"), null=True)
    first_content_seconds = models.FloatField(_("first content"), null=True)
    total_seconds = models.FloatField(_("total"), null=True)
    input_tokens = models.PositiveIntegerField(_("tokens read"), default=0)
    output_tokens = models.PositiveIntegerField(_("tokens written"), default=0)
    has_text = models.BooleanField(_("with texts"), default=False)
    history = models.PositiveIntegerField(_("earlier turns given"), default=0)
    steps = models.JSONField(_("steps"), default=list)
    """Rounds and tool calls in order, in the form of ``answers.recording``."""
    tags = models.JSONField(_("tags"), default=list)
    """Words to find entries by; of ``feedback:…`` the last vote's alone."""
    extra = models.JSONField(_("extra data"), default=dict)
    """What was added after the run, by the name of who did."""
    sources = models.JSONField(_("sources"), default=list)
    """All numbered sources, each with the number it was cited by, if it was."""
    created_at = models.DateTimeField(_("written"), auto_now_add=True, db_index=True)

    class Meta:
        verbose_name = _("run log entry")
        verbose_name_plural = _("run log entries")
        default_permissions = ("view", "delete")

    def __str__(self) -> str:
        return str(self.id)
