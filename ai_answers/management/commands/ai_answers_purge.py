"""Delete conversations whose last turn is older than ``RETENTION_DAYS``, and entries of the run
log older than ``LOG_DAYS``.

Before that, runs whose process is gone are ended: a busy site does so by itself, on a quiet one
nobody else comes by.
"""

from __future__ import annotations

import datetime
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Max, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from ...answers.budgets import today
from ...answers.turns import sweep
from ...conf import app_settings
from ...models import BudgetDay, Conversation, RunLog
from ..terminal import tables_needed

BATCH = 500
"""Rows deleted in one transaction, so that no lock is held for long."""
BUDGET_DAYS = 30
"""Days for which spending is kept; it holds no text."""


class Command(BaseCommand):
    help = (
        "Deletes conversations, with turns, runs and feedback, and entries of the run log that are "
        "too old to keep."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--days", type=int, help="age of conversations in days; default: RETENTION_DAYS"
        )
        parser.add_argument(
            "--log-days", type=int, help="age of run log entries in days; default: LOG_DAYS"
        )
        parser.add_argument("--dry-run", action="store_true", help="only count")

    def handle(self, *args: Any, **options: Any) -> None:
        days = _days("--days", options["days"], app_settings().RETENTION_DAYS)
        log_days = _days("--log-days", options["log_days"], app_settings().LOG_DAYS)
        dry_run = options["dry_run"]
        with tables_needed():
            if not dry_run:
                self._end_stale_runs()
                kept_from = today() - datetime.timedelta(days=BUDGET_DAYS)
                BudgetDay.objects.filter(day__lt=kept_from).delete()
            if days is None:
                self.stdout.write("RETENTION_DAYS is None: all conversations are kept.")
            else:
                self._purge(_old_conversations(days), "conversations", days, dry_run=dry_run)
            if log_days is not None:
                old = RunLog.objects.filter(created_at__lt=_before(log_days))
                self._purge(old, "run log entries", log_days, dry_run=dry_run)

    def _purge(self, old: QuerySet[Any], what: str, days: int, *, dry_run: bool) -> None:
        if dry_run:
            self.stdout.write(f"{old.count()} {what} are older than {days} days.")
            return
        deleted = 0
        while ids := list(old.order_by("pk").values_list("pk", flat=True)[:BATCH]):
            old.model._default_manager.filter(pk__in=ids).delete()
            deleted += len(ids)
        self.stdout.write(f"{deleted} {what} older than {days} days were deleted.")

    def _end_stale_runs(self) -> None:
        ended = 0
        while swept := sweep():  # it takes a hundred at a time
            ended += swept
        if ended:
            self.stdout.write(f"{ended} runs were ended whose process is gone.")


def _days(option: str, given: int | None, default: int | None) -> int | None:
    days = default if given is None else given
    if days is not None and days < 0:
        raise CommandError(f"{option} must be 0 or more, not {days}.")
    return days


def _before(days: int) -> datetime.datetime:
    return timezone.now() - datetime.timedelta(days=days)


def _old_conversations(days: int) -> QuerySet[Conversation]:
    """Return those whose last turn is older; one without turns counts from its beginning."""
    last = Coalesce(Max("turns__created_at"), "created_at")
    return Conversation.objects.annotate(last=last).filter(last__lt=_before(days))
