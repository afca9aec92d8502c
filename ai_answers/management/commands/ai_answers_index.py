"""``ai_answers_index``: bring indexes in step with the site's content."""

from __future__ import annotations

import sys
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ai_answers.conf import app_settings
from ai_answers.exceptions import AnswersError
from ai_answers.indexing import Report, index_source, is_in_index
from ai_answers.retrieval import get_index
from ai_answers.sources import registered

INTERRUPTED = 130
"""What a shell expects of a command that Ctrl-C has ended."""
BAR = 30
PAUSE_SECONDS = 0.1


class Command(BaseCommand):
    help = "Brings the indexes in step with the registered sources; only what changed is indexed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--source",
            action="append",
            metavar="NAME",
            help="Only this source, such as blog.article; may be given several times.",
        )
        parser.add_argument(
            "--index",
            action="append",
            metavar="ALIAS",
            help="Only this index of AI_ANSWERS['INDEXES']; may be given several times.",
        )
        parser.add_argument(
            "--rebuild", action="store_true", help="Index everything anew, changed or not."
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="Only count what would be indexed."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        started, total = time.monotonic(), Report()
        self.verbosity = options["verbosity"]
        try:
            aliases = self._aliases(options["index"])
            sources = self._sources(options["source"])
            for alias in aliases:
                total += self._index(alias, sources, options)
        except AnswersError as error:
            cause = f" ({error.__cause__})" if error.__cause__ else ""
            raise CommandError(f"{error}{cause}") from error
        except KeyboardInterrupt:
            if self.stdout.isatty():
                self.stdout.write("")  # leave the bar's line
            self.stderr.write("Stopped. What was written stays; the next run goes on from there.")
            sys.exit(INTERRUPTED)
        total = total + Report(seconds=time.monotonic() - started - total.seconds)
        done = "Dry run" if options["dry_run"] else "Done"
        self._say(self.style.SUCCESS(f"{done}: {total}."))
        if total.failed:
            raise CommandError(f"{total.failed} objects could not be read; see the log.")

    def _index(self, alias: str, sources: list, options: dict[str, Any]) -> Report:
        total, index = Report(), get_index(alias)
        mine = [source for source in sources if is_in_index(source, alias)]
        for source in mine:
            bar = Bar(self, f"{alias}: {source.name}")
            total += bar.ended(
                index_source(
                    source,
                    index=alias,
                    rebuild=options["rebuild"],
                    dry_run=options["dry_run"],
                    progress=bar,
                )
            )
        if options["source"]:
            return total
        for name in sorted(index.entity_types() - {source.name for source in mine}):
            removed = len(index.stored(name))
            if not options["dry_run"]:
                index.clear(name)
            self._say(f"{alias}: {name}: no such source any more, {removed} removed")
            total += Report(removed=removed)
        return total

    def _aliases(self, wanted: list[str] | None) -> list[str]:
        there_are = list(app_settings().INDEXES)
        for alias in wanted or []:
            if alias not in there_are:
                raise CommandError(f"No index {alias!r}; there are: {', '.join(there_are)}.")
        return wanted or there_are

    def _sources(self, wanted: list[str] | None) -> list:
        by_name = {source.name: source for source in registered()}
        # As models are named in code: blog.Article for blog.article.
        names = {name.lower(): name for name in by_name}
        for name in wanted or []:
            if name.lower() not in names:
                there_are = ", ".join(by_name) or "none"
                raise CommandError(f"No source {name!r}; there are: {there_are}.")
        if wanted:
            return [by_name[names[name.lower()]] for name in wanted]
        return list(by_name.values())

    def _say(self, text: str) -> None:
        if self.verbosity:
            self.stdout.write(text)


class Bar:
    """A line that grows on a terminal; elsewhere only its end is written."""

    def __init__(self, command: Command, label: str) -> None:
        self.command = command
        self.label = label
        self.is_live = command.verbosity > 0 and command.stdout.isatty()
        self._drawn_at = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not self.is_live or (now - self._drawn_at < PAUSE_SECONDS and done < total):
            return
        self._drawn_at = now
        filled = BAR * done // max(total, 1)
        bar = "█" * filled + "·" * (BAR - filled)
        self.command.stdout.write(f"\r{self.label} {bar} {done}/{total}", ending="")
        self.command.stdout.flush()

    def ended(self, report: Report) -> Report:
        if self.is_live:
            self.command.stdout.write("\r\x1b[K", ending="")
        self.command._say(f"{self.label}: {report}")
        return report
