"""Search an index in the terminal and see what became of everything that was found.

For those who run the site: it shows titles of objects that the asker may not see, marked so.
"""

from __future__ import annotations

import json
import shutil
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import translation

from ai_answers.agents.search import AMOUNT, resolve_search
from ai_answers.answers.conversations import find_agent
from ai_answers.exceptions import AnswersError
from ai_answers.indexing.diagnosis import REASONS, diagnose
from ai_answers.management.terminal import printable, quiet_logs, tables_needed
from ai_answers.retrieval import Candidate, Explanation, explain
from ai_answers.sources import parse_key
from ai_answers.values import Asker, ObjectKey


class Command(BaseCommand):
    help = "Searches an index as a visitor would, without a model, and says what was left out."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("query")
        parser.add_argument("--index", default="default", metavar="ALIAS")
        parser.add_argument(
            "--agent", metavar="SLUG", help="Take index, amount and lowest score of this agent."
        )
        parser.add_argument("--user", help="User name to search as; default: anonymous.")
        parser.add_argument("--language", help="Language to read in; default: the site's.")
        parser.add_argument("--amount", type=int, help=f"Hits wanted; default: {AMOUNT}.")
        parser.add_argument("--min-score", type=float, metavar="SCORE")
        parser.add_argument(
            "--object", metavar="NAME:ID", help="Say why this object is or is not found."
        )
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["amount"] is not None and options["amount"] < 1:
            raise CommandError("--amount must be 1 or more.")
        with tables_needed(), quiet_logs(unless=options["traceback"] or options["verbosity"] > 1):
            try:
                self._search(options)
            except AnswersError as error:
                cause = f" ({error.__cause__})" if error.__cause__ else ""
                raise CommandError(f"{error}{cause}") from error

    def _search(self, options: dict[str, Any]) -> None:
        language = options["language"] or translation.get_language() or ""
        asker = Asker(user=_user(options["user"]), language=language)
        how = _how(options)
        alias, query = how.pop("alias"), options["query"]
        if options["object"]:
            found = diagnose(alias, query, _key(options["object"]), asker=asker, **how)
            if options["json"]:
                said = {"object": options["object"], "reason": found.reason, "place": found.place}
                self.stdout.write(json.dumps(said | {"text": found.text}, indent=2))
                return
            place = f" (place {found.place})" if found.place else ""
            self.stdout.write(printable(f"{options['object']}: {found.text}{place}"))
            return
        explanation = explain(alias, query, asker=asker, **how)
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(explanation), indent=2))  # ASCII only
        else:
            self._write(explanation)

    def _write(self, explanation: Explanation) -> None:
        if not explanation.candidates:
            self.stdout.write("Nothing was found.")
        kinds = explanation.kinds
        if explanation.candidates:
            heads = "".join(f"{kind[:8]:>9}" for kind in kinds)
            self.stdout.write(self.style.MIGRATE_HEADING(f"   #{heads}  page"))
        for place, candidate in enumerate(explanation.candidates, 1):
            self.stdout.write(_line(place, candidate, kinds))
        for note in explanation.notes:
            self.stderr.write(f"Note: {note}.")


def _how(options: dict[str, Any]) -> dict[str, Any]:
    """Return index alias, amount and lowest score: the agent's, unless said otherwise."""
    alias, amount, min_score = options["index"], options["amount"], options["min_score"]
    if options["agent"]:
        tool = resolve_search(find_agent(options["agent"]))
        if tool is None:
            raise CommandError(f"The agent {options['agent']!r} has no search tool with an index.")
        alias = tool.index
        amount = amount or tool.amount
        min_score = tool.min_score if min_score is None else min_score
    return {"alias": alias, "amount": amount or AMOUNT, "min_score": min_score}


def _user(name: str | None) -> Any:
    if name is None:
        return AnonymousUser()
    model = get_user_model()
    try:
        return model._default_manager.get_by_natural_key(name)
    except model.DoesNotExist:
        raise CommandError(f"There is no user {name!r}.") from None


def _key(written: str) -> ObjectKey:
    key = parse_key(written)
    if key is None:
        raise CommandError(f"--object must be like blog.article:7, not {written!r}.")
    return key


def _line(place: int, candidate: Candidate, kinds: list[str]) -> str:
    hit = candidate.hit
    scores = "".join(
        f"{hit.scores[kind]:9.3f}" if kind in hit.scores else f"{'–':>9}" for kind in kinds
    )
    name = " › ".join(filter(None, (hit.chunk.title or str(hit.chunk.key), hit.chunk.heading)))
    language = f" [{hit.chunk.language}]" if hit.chunk.language else ""
    indent = 6 + 9 * len(kinds)
    width = max(shutil.get_terminal_size().columns - indent, 30)
    is_hit = candidate.fate == "hit"
    below = _cut(hit.chunk.url, width) if is_hit else f"({REASONS[candidate.fate]})"
    line = f"{place:4}{scores}  {_cut(f'{name}{language}', width)}"
    return f"{line}\n{' ' * indent}{below}" if below else line


def _cut(text: str, width: int) -> str:
    shown = printable(text).replace("\n", " ")
    return shown if len(shown) <= width else f"{shown[: width - 1]}…"


def _as_json(explanation: Explanation) -> dict[str, Any]:
    return {
        "score_kind": explanation.score_kind,
        "notes": list(explanation.notes),
        "candidates": [
            {
                "object": str(candidate.hit.chunk.key),
                "language": candidate.hit.chunk.language,
                "position": candidate.hit.chunk.position,
                "title": candidate.hit.chunk.title,
                "heading": candidate.hit.chunk.heading,
                "url": candidate.hit.chunk.url,
                "scores": dict(candidate.hit.scores),
                "fate": candidate.fate,
            }
            for candidate in explanation.candidates
        ],
    }
