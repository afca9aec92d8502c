"""Delete conversations whose last turn is older than ``RETENTION_DAYS``.

Before that, runs whose process is gone are ended: a busy site does so by itself, on a quiet one
nobody else comes by.
"""

from __future__ import annotations

import datetime
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Max
from django.db.models.functions import Coalesce
from django.utils import timezone

from ...answers.budgets import today
from ...answers.turns import sweep
from ...conf import app_settings
from ...models import BudgetDay, Conversation
from ..terminal import tables_needed

BATCH = 500
"""Conversations deleted in one transaction, so that no lock is held for long."""
BUDGET_DAYS = 30
"""Days for which spending is kept; it holds no text."""


class Command(BaseCommand):
    help = "Deletes conversations, with turns, runs and feedback, that are too old to keep."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--days", type=int, help="age in days; default: RETENTION_DAYS")
        parser.add_argument("--dry-run", action="store_true", help="only count")

    def handle(self, *args: Any, **options: Any) -> None:
        days = options["days"] if options["days"] is not None else app_settings().RETENTION_DAYS
        if days is not None and days < 0:
            raise CommandError(f"--days must be 0 or more, not {days}.")
        with tables_needed():
            self._purge(days, dry_run=options["dry_run"])

    def _purge(self, days: int | None, *, dry_run: bool) -> None:
        if not dry_run:
            self._end_stale_runs()
        if days is None:
            self.stdout.write("RETENTION_DAYS is None: everything is kept.")
            return
        before = timezone.now() - datetime.timedelta(days=days)
        old = Conversation.objects.annotate(
            last=Coalesce(Max("turns__created_at"), "created_at")
        ).filter(last__lt=before)
        if dry_run:
            self.stdout.write(f"{old.count()} conversations are older than {days} days.")
            return
        deleted = 0
        while ids := list(old.order_by("pk").values_list("pk", flat=True)[:BATCH]):
            Conversation.objects.filter(pk__in=ids).delete()
            deleted += len(ids)
        kept_from = today() - datetime.timedelta(days=BUDGET_DAYS)
        BudgetDay.objects.filter(day__lt=kept_from).delete()
        self.stdout.write(f"{deleted} conversations older than {days} days were deleted.")

    def _end_stale_runs(self) -> None:
        ended = 0
        while swept := sweep():  # it takes a hundred at a time
            ended += swept
        if ended:
            self.stdout.write(f"{ended} runs were ended whose process is gone.")
