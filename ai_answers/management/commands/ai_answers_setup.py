"""Create what a page needs to be asked: an agent with its search tool, and one block of each kind.

Runs in one transaction and can be run again: what is there already is left as it is, but for
who may ask an agent when ``--access`` says so.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_slug
from django.db import transaction

from ...checks.database import agent_problems
from ...conf import alias_settings
from ...exceptions import ConfigurationError
from ...models import Agent, AgentTool, AnswerBlock, IndexedDocument, QuestionBlock, SourcesBlock
from ..terminal import tables_needed

WHO = {
    Agent.Access.PUBLIC: "everyone may ask",
    Agent.Access.AUTHENTICATED: "signed-in users with ai_answers.use_ai_answers may ask",
    Agent.Access.GROUPS: "its groups may ask, with ai_answers.use_ai_answers",
}
"""What each ``access`` of an agent means."""

TEMPLATE = """
Put this in a template:

  {% load ai_answers %}
  {% ai_answers_media %}        in <head>
  {% ai_question "question" %}  where visitors ask
  {% ai_answer "answer" %}      where the answer appears
  {% ai_sources "sources" %}    where all its sources are listed (optional)
"""


class Command(BaseCommand):
    help = (
        "Creates an agent that can answer and the blocks to place. Of what exists it changes only "
        "who may ask, and only with --access."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--agent", default="site", help="slug of the agent (site)")
        parser.add_argument("--name", default="", help="its name, if it is created")
        parser.add_argument(
            "--access",
            choices=Agent.Access.values,
            help="who may ask, also where the agent exists; a new one: authenticated",
        )
        parser.add_argument("--index", default="default", help="alias it searches (default)")

    def handle(self, *args: Any, **options: Any) -> None:
        _check(options)
        with tables_needed():
            self._set_up(options)

    def _set_up(self, options: dict[str, Any]) -> None:
        with transaction.atomic():
            agent = self._agent(options)
            self._blocks(agent)
        self.stdout.write(TEMPLATE)
        for number, step in enumerate(_next_steps(agent, index=options["index"]), start=1):
            self.stdout.write(f"{'Next:' if number == 1 else '     '} {number}. {step}")

    def _agent(self, options: dict[str, Any]) -> Agent:
        slug, access = options["agent"], options["access"]
        name = options["name"] or slug.replace("-", " ").capitalize()
        agent, is_new = Agent.objects.get_or_create(
            slug=slug, defaults={"name": name, "access": access or Agent.Access.AUTHENTICATED}
        )
        is_changed = bool(access) and agent.access != access
        if is_new:
            # Only now: an editor may have taken the tool out of an agent that was there.
            AgentTool.objects.create(agent=agent, tool=AgentTool.SEARCH, index=options["index"])
        elif is_changed:
            agent.access = access
            agent.save(update_fields=["access"])
        self._report("agent", slug, is_new=is_new, is_changed=is_changed, now=WHO[agent.access])
        return agent

    def _blocks(self, agent: Agent) -> None:
        answer, is_new = AnswerBlock.objects.get_or_create(
            slug="answer", defaults={"name": "Answer", "agent": agent}
        )
        self._report("answer block", answer.slug, is_new=is_new)
        if answer.agent_id != agent.pk:
            self.stderr.write(
                f"The answer block 'answer' belongs to another agent, {answer.agent.slug!r}; for "
                f"{agent.slug!r} add blocks of its own in the admin."
            )
        for model, slug in ((QuestionBlock, "question"), (SourcesBlock, "sources")):
            block, is_new = model.objects.get_or_create(
                slug=slug, defaults={"name": slug.capitalize(), "target": answer}
            )
            self._report(str(model._meta.verbose_name), block.slug, is_new=is_new)

    def _report(
        self, what: str, slug: str, *, is_new: bool, is_changed: bool = False, now: str = ""
    ) -> None:
        done = "created" if is_new else "changed" if is_changed else "kept   "
        if is_new or is_changed:
            done = self.style.SUCCESS(done)
        self.stdout.write(f"{done} {what} {slug!r}{f': {now}' if now else ''}")


def _check(options: dict[str, Any]) -> None:
    try:
        validate_slug(options["agent"])
    except ValidationError:
        raise CommandError(
            f"--agent must be a slug of letters, digits, '-' and '_', not {options['agent']!r}."
        ) from None
    try:
        alias_settings("INDEXES", options["index"])
    except ConfigurationError as error:
        raise CommandError(f"--index {options['index']!r}: {error}") from None


def _next_steps(agent: Agent, *, index: str) -> Iterator[str]:
    for problem in agent_problems(agent):
        yield f"Open the agent {agent.slug!r} in the admin. {problem}"
    if not agent.enabled:
        yield f"Switch the agent {agent.slug!r} on in the admin."
    if not IndexedDocument.objects.filter(index=index).exists():
        yield "Register your content in an app's ai_answers.py (docs/sources.md)."
        yield f"Run: manage.py ai_answers_index --index {index}"
    if agent.access == Agent.Access.AUTHENTICATED:
        yield (
            "Visitors must be signed in and have the permission ai_answers.use_ai_answers; "
            "--access public, or “Who may ask” in the admin, opens the agent to everyone."
        )
    elif agent.access == Agent.Access.GROUPS and not agent.groups.exists():
        yield f"Choose the groups that may ask {agent.slug!r} in the admin."
    yield "Run: manage.py check --deploy --database default"
