"""What was spent and reserved on one day, per budget key."""

from __future__ import annotations

from django.db import models


class BudgetDay(models.Model):
    """One row per day and key: ``site``, ``agent:<slug>`` or ``visitor:<hash>``."""

    day = models.DateField()
    key = models.CharField(max_length=140)
    questions = models.PositiveIntegerField(default=0)
    tokens = models.PositiveBigIntegerField(default=0)
    """Used by runs that have ended."""
    reserved = models.PositiveBigIntegerField(default=0)
    """Held by runs that are still going on."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["day", "key"], name="ai_answers_budget_once"),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.key}"
