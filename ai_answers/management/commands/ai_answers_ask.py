"""Ask a question in the terminal: the same pipeline, streamed as text.

A run that fails ends with one sentence that says what to do; ``--traceback`` shows the log's
lines as well. Test it with ``call_command`` and ``scripted``.
"""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import get_language

from ai_answers.answers.conversations import Question, check_agent, find_agent, open_turn
from ai_answers.chat_models.aliases import empty_secrets, endpoint, get_chat_model
from ai_answers.conf import alias_settings, app_settings
from ai_answers.exceptions import AnswersError, NotPermitted
from ai_answers.management.terminal import printable, quiet_logs, tables_needed
from ai_answers.models import Agent, Run
from ai_answers.permissions import USE
from ai_answers.rendering.sanitise import is_blank
from ai_answers.runs.reading import frames, wait
from ai_answers.runs.runner import get_runner
from ai_answers.runs.stop import stop
from ai_answers.values import Asker, Frame

INTERRUPTED = 130
"""What a shell expects of a command that Ctrl-C has ended."""
FAILURES = {
    "model_auth": "{model} refused the key; correct it in the OPTIONS of the alias.{empty}",
    "model_unreachable": "{model} cannot be reached; see that it runs and that the address is "
    "right.",
    "model_not_found": "{model} has no such model or path; correct 'model' or the address.",
    "model_rate_limited": "{model} takes no more questions for now; wait, or raise the limit "
    "with its vendor.",
    "model_overloaded": "{model} has an error of its own; try again later.",
    "model_timeout": "{model} was too slow; the limits are FIRST_CONTENT_SECONDS, "
    "IDLE_CONTENT_SECONDS and RUN_SECONDS.",
    "model_failed": "{model} failed; --traceback shows where.",
    "content_filter": "{model} refused to answer.",
    "context_overflow": "{model} takes no prompt of this length; lower PROMPT_TOKENS.",
    "budget_exhausted": "a daily budget is spent; see BUDGETS.",
    "busy": "what is left of a daily budget is reserved by other questions; try again in seconds.",
    "not_saved": "the answer could not be saved; see that the database can be written to.",
    "interrupted": "it was interrupted; ask again.",
}
"""Code of a failed run → what happened and what to do."""
UNKNOWN_FAILURE = "an error in the app, the site or its settings; --traceback shows where."


class Command(BaseCommand):
    help = (
        "Ask an agent a question and print its answer with the sources. The exit code is 0 also "
        "when the sources hold no answer, and 1 when the question could not be answered at all."
    )

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
        with tables_needed(), quiet_logs(unless=options["traceback"] or options["verbosity"] > 1):
            self._ask(text, options)

    def _ask(self, text: str, options: dict[str, Any]) -> None:
        asker = Asker(
            user=_user(options["user"]), language=options["language"] or get_language() or ""
        )
        agent = _agent(options["agent"] or _only_agent(), asker.user)
        answer = None if options["json"] else AnswerText(self.stdout)
        question, spec = Question(text=text, agent=agent.slug), None
        try:
            _build_chat_model(agent)  # a wrong setting is named, and no turn is opened for it
            runner = get_runner()
            spec = open_turn(question, asker, visitor="command", payer="command")
            runner.start(spec)
            last = _follow(spec.run_id, asker, answer)
        except AnswersError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            if spec is not None:
                _stop(spec.run_id, asker)
            if answer is not None:
                answer.end()
            self.stderr.write("Stopped. What was written of the answer is saved.")
            sys.exit(INTERRUPTED)
        if answer is None and last.kind != "error":
            self.stdout.write(json.dumps(_json(last, spec.run_id), indent=2))  # ASCII only
            return
        if answer is not None:
            answer.end()
        if last.kind == "error":
            raise CommandError(_failure(last.data["code"], agent))
        self._write_sources(last)

    def _write_sources(self, last: Frame) -> None:
        references = last.data["references"]
        if references:
            self.stdout.write("")
        for reference in references:
            url = f"  {reference['url']}" if reference["url"] else ""
            self.stdout.write(f"[{reference['index']}] {printable(reference['label'])}{url}")
        if last.data["outcome"] == "no_answer":
            self.stdout.flush()  # before the other stream, also where both are one file
            self.stderr.write("(no answer)")


class AnswerText:
    """An answer while it is printed: in pieces, without the empty lines around it."""

    def __init__(self, out: Any) -> None:
        self._out = out
        self._held = ""
        """Line ends to print once something follows them."""
        self._is_begun = False

    def write(self, text: str) -> None:
        text = self._held + printable(text)
        shown = text.rstrip("\n")
        self._held = text[len(shown) :]
        if not self._is_begun:
            shown = shown.lstrip("\n")
        if shown:
            self._is_begun = True
            self._out.write(shown, ending="")
            self._out.flush()

    def end(self) -> None:
        """Leave the answer's line, if there is one."""
        if self._is_begun:
            self._out.write("")
            self._out.flush()
        self._held, self._is_begun = "", False


def _follow(run_id: Any, asker: Asker, answer: AnswerText | None) -> Frame:
    """Print the text as it arrives; return the last frame."""
    last = None
    for entry in frames(run_id, asker):
        if entry is None:
            continue
        last = entry.frame
        if answer is None:
            continue
        if last.kind == "snapshot":  # takes the place of what was written, so on a line of its own
            answer.end()
        if last.kind in ("token", "snapshot"):
            answer.write(last.data["text"])
    return last


def _stop(run_id: Any, asker: Asker) -> None:
    """End the run and wait until it is saved; whoever cannot wait stops again."""
    with contextlib.suppress(KeyboardInterrupt, Run.DoesNotExist):
        stop(Run.objects.get(pk=run_id))
        wait(run_id, asker)


def _json(last: Frame, run_id: Any) -> dict[str, Any]:
    data = last.data
    support = {"support": data["support"]} if "support" in data else {}
    return {
        "conversation_id": data["conversation_id"],
        "turn": data["turn"],
        "run": str(run_id),
        "answer": {"text": data["text"], "references": data["references"]},
        "outcome": data["outcome"],
        "usage": data["usage"],
        **support,
    }


def _agent(slug: str, user: Any) -> Agent:
    """Return the agent if it answers ``user``; else say what there is and who may change it."""
    slugs = _slugs()
    if slug not in slugs:
        there_are = f"there are: {', '.join(slugs)}." if slugs else "there are none."
        raise CommandError(f"There is no agent {slug!r}; {there_are}")
    agent = find_agent(slug)
    try:
        check_agent(agent, user)
    except NotPermitted as error:
        needed = USE if agent.access == Agent.Access.AUTHENTICATED else f"{USE} and a group of it"
        raise CommandError(
            f"{error} Ask with --user as one who has {needed}, or open the agent to everyone: "
            f"manage.py ai_answers_setup --agent {slug} --access public, or “Who may ask” in the "
            "admin."
        ) from error
    except AnswersError as error:
        raise CommandError(str(error)) from error
    return agent


def _only_agent() -> str:
    slugs = _slugs(enabled=True)
    if len(slugs) == 1:
        return slugs[0]
    if slugs:
        raise CommandError(f"Choose one with --agent: {', '.join(slugs)}.")
    if switched_off := _slugs():
        raise CommandError(
            f"All agents are switched off: {', '.join(switched_off)}; switch one on in the admin."
        )
    raise CommandError("There is no agent yet; make one with ai_answers_setup.")


def _slugs(**which: Any) -> list[str]:
    return list(Agent.objects.filter(**which).order_by("slug").values_list("slug", flat=True))


def _build_chat_model(agent: Agent) -> None:
    get_chat_model(
        agent.chat_model,
        model_name=agent.model_name,
        temperature=agent.temperature,
        max_output_tokens=agent.max_output_tokens,
    )


def _failure(code: str, agent: Agent) -> str:
    entry = alias_settings("CHAT_MODELS", agent.chat_model)
    address = endpoint(entry)
    empty = empty_secrets(entry.get("OPTIONS") or {})
    what = FAILURES.get(code, UNKNOWN_FAILURE).format(
        model=f"the chat model {agent.chat_model!r} ({entry['BACKEND']}"
        f"{f' at {address}' if address else ''})",
        empty="".join(f" {name!r} is empty." for name in empty),
    )
    return f"The run failed ({code}): {what}"


def _user(name: str | None) -> Any:
    if not name:
        return AnonymousUser()
    users = get_user_model()._default_manager
    try:
        return users.get_by_natural_key(name)
    except get_user_model().DoesNotExist:
        raise CommandError(f"There is no user {name!r}.") from None
