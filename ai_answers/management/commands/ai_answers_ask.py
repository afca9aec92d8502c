"""Ask a question in the terminal: the same pipeline, streamed as text."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import get_language

from ai_answers.answers.conversations import Question, open_turn
from ai_answers.conf import app_settings
from ai_answers.exceptions import AnswersError
from ai_answers.models import Agent, Run
from ai_answers.rendering.sanitise import clean_text, drop_hidden, is_blank
from ai_answers.runs.reading import frames, wait
from ai_answers.runs.runner import get_runner
from ai_answers.runs.stop import stop
from ai_answers.values import Asker, Frame

INTERRUPTED = 130
"""What a shell expects of a command that Ctrl-C has ended."""


class Command(BaseCommand):
    help = "Ask an agent a question and print its answer with the sources."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("question")
        parser.add_argument("--agent", help="slug; needed when there are several agents")
        parser.add_argument("--user", help="user name to ask as; default: an anonymous visitor")
        parser.add_argument("--language", help="language to ask in; default: the site's")
        parser.add_argument("--json", action="store_true", help="print the API's JSON answer")

    def handle(self, *args: Any, **options: Any) -> None:
        text = options["question"]
        limit = app_settings().MAX_QUESTION_CHARS
        if is_blank(text):
            raise CommandError("The question is empty.")
        if len(text) > limit:
            raise CommandError(f"The question has {len(text)} characters; at most {limit} count.")
        question = Question(text=text, agent=options["agent"] or _only_agent())
        asker = Asker(
            user=_user(options["user"]), language=options["language"] or get_language() or ""
        )
        show, spec = not options["json"], None
        try:
            runner = get_runner()
            spec = open_turn(question, asker, visitor="command", payer="command")
            runner.start(spec)
            last = self._follow(spec.run_id, asker, show=show)
        except AnswersError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            if spec is not None:
                _stop(spec.run_id, asker)
            if show:
                self.stdout.write("")  # leave the answer's line
            self.stderr.write("Stopped. What was written of the answer is saved.")
            sys.exit(INTERRUPTED)
        if last.kind == "error":
            raise CommandError(f"The run failed ({last.data['code']}); the log says why.")
        if show:
            self._write_sources(last)
        else:
            self.stdout.write(json.dumps(_json(last, spec.run_id), indent=2))  # ASCII only

    def _follow(self, run_id: Any, asker: Asker, *, show: bool) -> Frame:
        """Print the text as it arrives; return the last frame."""
        last = None
        for entry in frames(run_id, asker):
            if entry is not None:
                last = entry.frame
                if show and last.kind == "token":
                    self.stdout.write(printable(last.data["text"]), ending="")
                    self.stdout.flush()
        return last

    def _write_sources(self, last: Frame) -> None:
        self.stdout.write("\n")
        for reference in last.data["references"]:
            url = f"  {reference['url']}" if reference["url"] else ""
            self.stdout.write(f"[{reference['index']}] {printable(reference['label'])}{url}")
        if last.data["outcome"] == "no_answer":
            self.stderr.write("(no answer)")


def printable(text: str) -> str:
    """Return ``text`` without what drives a terminal, turns its text around or hides in it."""
    return drop_hidden(clean_text(text)).replace("\r", "")


def _stop(run_id: Any, asker: Asker) -> None:
    """End the run and wait until it is saved; whoever cannot wait stops again."""
    with contextlib.suppress(KeyboardInterrupt, Run.DoesNotExist):
        stop(Run.objects.get(pk=run_id))
        wait(run_id, asker)


def _json(last: Frame, run_id: Any) -> dict[str, Any]:
    data = last.data
    return {
        "conversation_id": data["conversation_id"],
        "turn": data["turn"],
        "run": str(run_id),
        "answer": {"text": data["text"], "references": data["references"]},
        "outcome": data["outcome"],
        "usage": data["usage"],
    }


def _only_agent() -> str:
    slugs = list(Agent.objects.filter(enabled=True).values_list("slug", flat=True)[:20])
    if len(slugs) == 1:
        return slugs[0]
    if not slugs:
        raise CommandError("There is no agent yet; make one with ai_answers_setup.")
    raise CommandError(f"Choose one with --agent: {', '.join(slugs)}.")


def _user(name: str | None) -> Any:
    if not name:
        return AnonymousUser()
    users = get_user_model()._default_manager
    try:
        return users.get_by_natural_key(name)
    except get_user_model().DoesNotExist:
        raise CommandError(f"There is no user {name!r}.") from None
