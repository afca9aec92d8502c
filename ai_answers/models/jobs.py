"""Indexing that staff started in the admin: one row an index, about its last time."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class IndexingJob(models.Model):
    """The row through which processes see the indexing of one index.

    Only the process that does it writes progress and end, and only while ``token`` is its own;
    any process may set ``stop_requested``, and take the row over once the heartbeat is old.
    """

    class Status(models.TextChoices):
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        STOPPED = "stopped", _("stopped")
        FAILED = "failed", _("failed")

    index = models.CharField(_("index"), max_length=100, unique=True)
    rebuild = models.BooleanField(_("rebuild"), default=False)
    status = models.CharField(_("status"), max_length=10, choices=Status.choices)
    token = models.CharField(max_length=32, editable=False)
    """Of the thread that does it; another one once somebody started it anew."""
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        verbose_name=_("started by"),
    )
    started_at = models.DateTimeField(_("started at"))
    heartbeat_at = models.DateTimeField()
    finished_at = models.DateTimeField(_("finished at"), null=True)
    stop_requested = models.BooleanField(default=False)

    source = models.CharField(max_length=150, blank=True)
    """Name of the source that is being read."""
    done = models.PositiveIntegerField(default=0)
    """Its objects so far."""
    total = models.PositiveIntegerField(default=0)
    report = models.JSONField(default=dict)
    """Numbers of ``indexing.Report``, of the sources that are through."""
    failures = models.JSONField(default=list)
    """The first objects that could not be read, as ``[object, reason]``."""
    error = models.TextField(blank=True)
    """What ended it early."""

    class Meta:
        verbose_name = _("index")
        verbose_name_plural = _("indexes")
        default_permissions = ("view",)
        permissions = [("start_indexing", "Can start and stop indexing")]

    def __str__(self) -> str:
        return f"{self.index}: {self.get_status_display()}"
