"""Checks of how agents use their tools; they run with ``check --database default``.

Out: W018 a lowest score was chosen for another kind of score than searches end with now (R14,
R22), W019 arguments that a site forces on a tool do not fit the tool any more.
"""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Tags, Warning, register

from ..exceptions import AnswersError, ConfigurationError
from ..models import AgentTool
from ..tools import get_tool
from ..tools.arguments import described, problems
from .database import _agents


def kind_for(tool: AgentTool) -> str:
    """Return the kind of score that ``tool``'s lowest score is for now; empty without one."""
    if tool.tool != AgentTool.SEARCH or tool.min_score is None or not tool.index:
        return ""
    from ..retrieval import score_kind_of  # loads NumPy, so not at start-up

    try:
        return score_kind_of(tool.index)
    except AnswersError:
        return ""  # other checks say what is wrong with the settings


@register("ai_answers", Tags.database)
def check_scores(app_configs, databases=None, **kwargs) -> list[CheckMessage]:
    """W018: scores of another kind are on another scale, so the old limit cuts at random.

    One that was set elsewhere than in the admin has no kind noted, so nothing tells.
    """
    messages: list[CheckMessage] = []
    for agent in _agents(databases):
        for tool in agent.tools.all():
            kind = kind_for(tool)
            if kind and kind != tool.score_kind:
                chosen = f"{tool.score_kind!r} scores" if tool.score_kind else "no kind of scores"
                messages.append(
                    Warning(
                        f"The lowest score {tool.min_score} of agent {agent.slug!r} was chosen "
                        f"for {chosen}, but index {tool.index!r} ends with {kind!r} scores.",
                        hint="Try questions with manage.py ai_answers_search, then choose another "
                        "or none in the admin, and save the agent there; in code, set score_kind.",
                        obj=agent,
                        id="ai_answers.W018",
                    )
                )
    return messages


@register("ai_answers", Tags.database)
def check_arguments(app_configs, databases=None, **kwargs) -> list[CheckMessage]:
    """W019: the tool has changed since an editor set its arguments."""
    return [
        Warning(
            f"The tool {row.tool!r} of agent {agent.slug!r} does not work as set up: {problem}",
            hint="Correct its arguments in the admin, or where it is registered.",
            obj=agent,
            id="ai_answers.W019",
        )
        for agent in _agents(databases)
        for row in agent.tools.all()
        for problem in tool_problems(row.tool, row.arguments)
    ]


def tool_problems(name: str, arguments: Any) -> list[str]:
    """Say what keeps a registered tool from being called with ``arguments``."""
    try:
        tool = get_tool(name)
    except ConfigurationError as error:
        return [str(error)]
    return problems(tool, arguments or {}) if tool is not None else []


def tool_arguments(name: str) -> str:
    """Return what a registered tool takes, in a few words; empty for other names."""
    try:
        tool = get_tool(name)
    except ConfigurationError:
        return ""
    return described(tool) if tool is not None else ""
