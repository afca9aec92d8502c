"""The row through which processes see a run: status, snapshot, stop, heartbeat."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils.translation import gettext_lazy as _

from .conversations import Turn


class Run(models.Model):
    """One execution of the agent for a turn.

    Only the process that executes it writes status, sequence and snapshot; any process may set
    ``stop_requested`` and ``last_read_at``.
    """

    class Status(models.TextChoices):
        RUNNING = "running", _("running")
        ENDED = "ended", _("ended")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    turn = models.ForeignKey(Turn, models.CASCADE, related_name="runs")
    format = models.CharField(
        max_length=10, choices=[("markdown", "Markdown"), ("html", "HTML")], default="markdown"
    )
    language = models.CharField(max_length=35, blank=True)
    visitor = models.CharField(max_length=80, editable=False, help_text=_("Hashed."))
    request_id = models.CharField(max_length=100, null=True, blank=True)  # noqa: DJ001 - unique
    reserved = models.JSONField(
        default=dict, help_text=_("Budget keys and tokens to settle at the end.")
    )

    status = models.CharField(
        max_length=10, choices=Status.choices, default=Status.RUNNING, db_index=True
    )
    phase = models.CharField(max_length=20, blank=True)
    sequence = models.PositiveIntegerField(default=0, help_text=_("Id of the newest frame."))
    text = models.TextField(blank=True)
    parts = models.JSONField(default=list, blank=True)
    references = models.JSONField(default=list, blank=True)
    last_frame = models.JSONField(
        null=True, blank=True, help_text=_("The frame that ended it: kind and data.")
    )
    error_code = models.CharField(max_length=50, blank=True)
    notes = models.JSONField(
        _("notes"),
        default=list,
        blank=True,
        help_text=_("What went other than set up, such as an embedding that failed."),
    )

    worker = models.CharField(max_length=100, blank=True)
    stop_requested = models.BooleanField(default=False)
    last_read_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(db_index=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        constraints = [
            # A lost response that is asked for again must not be paid twice.
            models.UniqueConstraint(
                fields=["visitor", "request_id"], name="ai_answers_request_once"
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)
