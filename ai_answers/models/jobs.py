"""An indexing run that somebody started in the admin, as any process sees it."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class IndexingJob(models.Model):
    """The last such run of an index; one row an index."""

    index = models.CharField(_("index"), max_length=100, unique=True)
    is_running = models.BooleanField(_("running"), default=False)
    source = models.CharField(_("source"), max_length=150, blank=True)
    done = models.PositiveIntegerField(_("done"), default=0)
    total = models.PositiveIntegerField(_("total"), default=0)
    report = models.TextField(_("report"), blank=True)
    failures = models.JSONField(_("failures"), default=list, blank=True)
    """The first objects that could not be read: id and kind of error."""
    error = models.TextField(_("error"), blank=True)
    started_at = models.DateTimeField(_("started"))
    heartbeat_at = models.DateTimeField(_("last sign of life"))

    class Meta:
        verbose_name = _("indexing job")
        verbose_name_plural = _("indexing jobs")

    def __str__(self) -> str:
        return self.index
