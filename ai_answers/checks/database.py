"""Checks of what editors saved: they run with ``check --database default`` and in ``migrate``.

Out: W003 an index that agents search is empty, E002 an agent names an alias or tool that the
settings do not have, W013 an agent that is switched on cannot answer, W014 an index was built
with other settings than those in force.
``agent_problems`` says the same to the admin.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connections, router

from ..exceptions import ConfigurationError
from ..models import Agent, AgentTool, IndexedDocument
from ..tools import registered_tools
from .settings import alias_entries

READ_ONLY = ("ai_answers.retrieval.retriever.RetrieverIndex",)
"""Indexes that others fill; there is nothing to compare them with."""


def agent_problems(agent: Agent) -> list[str]:
    """Name what keeps ``agent`` from answering, besides its switch.

    Reads ``agent.tools.all()``, so prefetch it for a list.
    """
    problems = _unknown_names(agent)
    if not any(tool.tool == AgentTool.SEARCH and tool.index for tool in agent.tools.all()):
        problems.append("It has no search tool with an index.")
    return problems


def _unknown_names(agent: Agent) -> list[str]:
    problems = []
    if agent.chat_model not in alias_entries("CHAT_MODELS"):
        problems.append(f"AI_ANSWERS['CHAT_MODELS'] has no alias {agent.chat_model!r}.")
    for tool in agent.tools.all():
        if tool.tool == AgentTool.SEARCH:
            if tool.index and tool.index not in alias_entries("INDEXES"):
                problems.append(f"AI_ANSWERS['INDEXES'] has no alias {tool.index!r}.")
        elif tool.tool not in tool_names():
            problems.append(f"No tool {tool.tool!r} is registered.")
    return problems


def tool_names() -> list[str]:
    """Return the names an agent's tool may have: search first, then the registered ones."""
    return [AgentTool.SEARCH, *registered_tools()]


def _agents(databases: Iterable[str] | None) -> list[Agent]:
    """Return enabled agents, or none where the database was not asked for or is not migrated."""
    database = router.db_for_read(Agent)
    if not databases or database not in databases:
        return []
    tables = connections[database].introspection.table_names()
    wanted = (Agent, AgentTool, IndexedDocument)
    if not all(model._meta.db_table in tables for model in wanted):
        return []
    return list(Agent.objects.filter(enabled=True).prefetch_related("tools"))


@register("ai_answers", Tags.database)
def check_agents(app_configs, databases=None, **kwargs) -> list[CheckMessage]:
    """E002 and W013: an enabled agent points nowhere, or cannot answer."""
    messages: list[CheckMessage] = []
    for agent in _agents(databases):
        unknown = _unknown_names(agent)
        messages += [
            Error(
                f"The agent {agent.slug!r} cannot work: {problem}",
                hint="Choose another in the admin, or add it to the settings.",
                obj=agent,
                id="ai_answers.E002",
            )
            for problem in unknown
        ]
        messages += [
            Warning(
                f"The agent {agent.slug!r} is switched on but cannot answer: {problem}",
                hint="Add a search tool with an index in the admin, or switch the agent off.",
                obj=agent,
                id="ai_answers.W013",
            )
            for problem in agent_problems(agent)
            if problem not in unknown
        ]
    return messages


@register("ai_answers", Tags.database)
def check_indexes(app_configs, databases=None, **kwargs) -> list[CheckMessage]:
    """W003 and W014: an index that agents search is empty or stale."""
    used = {tool.index for agent in _agents(databases) for tool in agent.tools.all()}
    messages: list[CheckMessage] = []
    for alias, entry in alias_entries("INDEXES").items():
        if alias not in used or entry.get("BACKEND") in READ_ONLY:
            continue
        run = f"Run: manage.py ai_answers_index --index {alias}"
        if not IndexedDocument.objects.filter(index=alias).exists():
            messages.append(
                Warning(
                    f"The index {alias!r} is empty; its agents find nothing.",
                    hint=f"Register sources in an app's ai_answers.py. {run}",
                    id="ai_answers.W003",
                )
            )
        elif reason := _staleness(alias):
            messages.append(Warning(reason, hint=run, id="ai_answers.W014"))
    return messages


def _staleness(alias: str) -> str | None:
    from ..indexing import is_stale  # loads the splitters, so not at start-up

    try:
        return is_stale(alias)
    except ConfigurationError:
        return None  # E002 and E012 say what is wrong with the settings
