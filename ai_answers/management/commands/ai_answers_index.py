"""``ai_answers_index``: bring indexes in step with the site's content.

Objects that cannot be read are named, the first few of them; the log has every one with its
traceback. Where no logging is set up, ``--traceback`` or ``-v 2`` shows that in the terminal.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import time
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from ai_answers.conf import app_settings
from ai_answers.exceptions import AnswersError
from ai_answers.indexing import Report, index_objects, index_source, is_in_index
from ai_answers.indexing.watching import Watch
from ai_answers.indexing.whole import index_all
from ai_answers.management.terminal import printable, quiet_logs, tables_needed
from ai_answers.sources import DirectorySource, registered

INTERRUPTED = 130
"""What a shell expects of a command that Ctrl-C has ended."""
BAR = 20
LOOK_SECONDS = 1.0
PAUSE_SECONDS = 0.1
NAMED = 5
"""Objects that could not be read, named one by one."""
REASON_CHARS = 200


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
        parser.add_argument(
            "--check",
            action="store_true",
            help="Only count, and exit with 1 if anything is out of step.",
        )
        parser.add_argument(
            "--since",
            type=_moment,
            metavar="WHEN",
            help="Only objects changed since then: 2026-11-30, 2026-11-30T08:00, 45m, 12h or 3d.",
        )
        parser.add_argument(
            "--watch",
            action="store_true",
            help="Go on watching the folders of directory sources, until Ctrl-C.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.verbosity = options["verbosity"]
        if options["check"]:
            options["dry_run"] = True
        if options["since"] and options["rebuild"]:
            raise CommandError("--since and --rebuild do not go together.")
        self.failures: dict[str, str] = {}
        self.named = 0
        with tables_needed(), quiet_logs(unless=options["traceback"] or self.verbosity > 1):
            self._index_all(options)
        if failed := len(self.failures):
            objects = "1 object" if failed == 1 else f"{failed} objects"
            raise CommandError(f"{objects} could not be read; --traceback shows where.")

    def _index_all(self, options: dict[str, Any]) -> None:
        started, total = time.monotonic(), Report()
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
        out_of_step = total.added + total.changed + total.removed
        total = total + Report(seconds=time.monotonic() - started - total.seconds)
        done = "Dry run" if options["dry_run"] else "Done"
        self._say(self.style.SUCCESS(f"{done}: {total}."))
        if options["check"] and out_of_step:
            raise CommandError(f"{out_of_step} documents are out of step; run ai_answers_index.")
        if options["watch"] and not options["dry_run"]:
            self._watch(sources)

    def _index(self, alias: str, sources: list, options: dict[str, Any]) -> Report:
        if not options["source"] and not options["since"]:
            return self._index_whole(alias, options)
        total = Report()
        for source in sources:
            if is_in_index(source, alias):
                bar = Bar(self, f"{alias}: {source.name}")
                report = index_source(
                    source,
                    index=alias,
                    rebuild=options["rebuild"],
                    dry_run=options["dry_run"],
                    since=options["since"],
                    progress=bar,
                    on_failure=partial(self._keep_failure, source.name),
                )
                self._source_ended(bar, report)
                total += report
        return total

    def _index_whole(self, alias: str, options: dict[str, Any]) -> Report:
        bars: dict[str, Bar] = {}

        def moved(name: str, done: int, total: int) -> None:
            if name not in bars:
                bars[name] = Bar(self, f"{alias}: {name}")
            bars[name](done, total)

        def ended(name: str, report: Report) -> None:
            if name in bars:
                self._source_ended(bars[name], report)
            else:
                self._say(f"{alias}: {name}: no such source any more, {report.removed} removed")

        return index_all(
            alias,
            rebuild=options["rebuild"],
            dry_run=options["dry_run"],
            progress=moved,
            on_failure=self._keep_failure,
            on_source=ended,
        )

    def _source_ended(self, bar: Bar, report: Report) -> None:
        bar.ended(report)
        self._name_failures()

    def _watch(self, sources: list) -> None:
        watch = Watch([source for source in sources if isinstance(source, DirectorySource)])
        if not watch.sources:
            raise CommandError("There is no directory source to watch.")
        names = ", ".join(source.name for source in watch.sources)
        self._say(f"Watching {names}; Ctrl-C ends it.")
        by_name = {source.name: source for source in watch.sources}
        waiting: dict[str, list[str]] = {}
        try:
            while True:
                time.sleep(LOOK_SECONDS)
                for name, ids in watch.changed().items():
                    waiting[name] = list(dict.fromkeys([*waiting.get(name, ()), *ids]))
                for name, ids in list(waiting.items()):
                    try:
                        report = index_objects(by_name[name], ids)
                    except AnswersError as error:  # such as an embedding that is away
                        self.stderr.write(f"{name}: {error} Trying again.")
                        continue
                    del waiting[name]
                    self._say(f"{name}: {printable(', '.join(ids[:NAMED]))}: {report}")
        except KeyboardInterrupt:
            self._say("")

    def _keep_failure(self, source: str, entity_id: str, error: Exception) -> None:
        # By object: one that several indexes hold fails in each.
        lines = str(error).strip().splitlines()
        reason = f"{type(error).__name__}: {lines[0] if lines else ''}".rstrip(": ")
        self.failures.setdefault(f"{source} {entity_id}", reason)

    def _name_failures(self) -> None:
        """Name what could not be read in the source just ended; behind a few, only count."""
        new = list(self.failures.items())[self.named :]
        room = max(0, NAMED - self.named)
        self.named = len(self.failures)
        for what, reason in new[:room]:
            self.stderr.write(printable(f"{what}: {reason}"[:REASON_CHARS]))
        if len(new) > room:
            self.stderr.write(f"… and {len(new) - room} more")

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


def _moment(written: str) -> datetime.datetime:
    """Read a date, a date with time, or how long ago; in the site's time zone."""
    units = {"m": "minutes", "h": "hours", "d": "days"}
    try:
        if written[-1:] in units and written[:-1].isdigit():
            ago = datetime.timedelta(**{units[written[-1]]: int(written[:-1])})
            return timezone.now() - ago
        moment = datetime.datetime.fromisoformat(written)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"must be like 2026-11-30, 2026-11-30T08:00, 45m, 12h or 3d, not {written!r}"
        ) from None
    is_naive = timezone.is_naive(moment)
    return timezone.make_aware(moment) if settings.USE_TZ and is_naive else moment


class Bar:
    """A line that grows on a terminal; elsewhere only its end is written."""

    def __init__(self, command: Command, label: str) -> None:
        self.command = command
        self.label = label
        self._started_at = time.monotonic()
        self.is_live = command.verbosity > 0 and command.stdout.isatty()
        self._drawn_at = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not self.is_live or (now - self._drawn_at < PAUSE_SECONDS and done < total):
            return
        self._drawn_at = now
        filled = BAR * done // max(total, 1)
        bar = "█" * filled + "·" * (BAR - filled)
        pace = self._pace(done, total, now - self._started_at)
        line = f"{self.label} {bar} {done}/{total}{pace}"
        self.command.stdout.write(f"\r{line}\x1b[K", ending="")
        self.command.stdout.flush()

    def _pace(self, done: int, total: int, seconds: float) -> str:
        """Say how fast it goes and how long it will take, once that can be told."""
        if seconds < 1 or not done:
            return ""
        rate, left = done / seconds, round((total - done) * seconds / done)
        return f"  {rate:.0f}/s  {left // 60}:{left % 60:02} left"

    def ended(self, report: Report) -> None:
        if self.is_live:
            self.command.stdout.write("\r\x1b[K", ending="")
        self.command._say(f"{self.label}: {report}")
