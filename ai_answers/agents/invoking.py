"""Call one tool of the site, sync or async, so that it can do no more than fail.

In: a LangChain tool and a call of it. Out: its message, and its structured output. Sync tools run
on threads of their own. Test it with functions decorated with ``langchain_core.tools.tool``.
"""

from __future__ import annotations

import functools
import json
from typing import Any

from django.db.models import QuerySet
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from pydantic import ValidationError

from ..bursts import contained, site_burst
from .text import text_of
from .tools import ToolCall

MOST_OBJECTS = 1_000
"""Of a query set that a tool returns."""
WRONG_ARGUMENTS = "These arguments are missing or wrong: {names}. Call the tool again."


def contained_tool(tool: BaseTool) -> BaseTool:
    """Return ``tool`` such that its coroutine cannot end the loop it runs on.

    LangChain awaits the coroutine in a task of its own, and asyncio lets a ``SystemExit`` through
    from any task, so it has to be caught inside.
    """
    coroutine = getattr(tool, "coroutine", None)
    if coroutine is None:
        return tool

    @functools.wraps(coroutine)
    async def inside(*args: Any, **kwargs: Any) -> Any:
        return await contained(coroutine(*args, **kwargs))

    return tool.model_copy(update={"coroutine": inside})


async def invoke(tool: BaseTool, call: ToolCall) -> tuple[str, Any]:
    """Run ``tool``; return its message and its structured output, if it has one.

    The structured output is the artifact of a tool that declares one, else whatever it returned
    that is not text.
    """
    arguments = dict(call.arguments)
    has_artifact = tool.response_format == "content_and_artifact"
    given: Any = arguments
    if has_artifact:
        given = {"type": "tool_call", "id": call.id, "name": tool.name, "args": arguments}
    if not _is_async(tool):
        return await site_burst(_invoke_and_read, tool, given)
    result = await contained(tool.ainvoke(given))
    if isinstance(result, str | ToolMessage):
        return _read(result)
    # Objects and query sets may ask the database when they are read, which a loop must not.
    return await site_burst(_read, result)


def wrong_arguments(tool: BaseTool, error: ValidationError) -> str:
    """Tell the model which arguments ``tool`` did not take."""
    wrong = {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}
    names = sorted(wrong & set(tool.args)) or ["one of them"]
    return WRONG_ARGUMENTS.format(names=", ".join(names))


def _invoke_and_read(tool: BaseTool, given: Any) -> tuple[str, Any]:
    return _read(tool.invoke(given))


def _read(result: Any) -> tuple[str, Any]:
    if isinstance(result, QuerySet):
        result = list(result[:MOST_OBJECTS])
    if isinstance(result, ToolMessage):
        return text_of(result.content), result.artifact
    if isinstance(result, str):
        return result, None
    return json.dumps(result, ensure_ascii=False, default=str), result


def _is_async(tool: BaseTool) -> bool:
    if hasattr(tool, "coroutine"):
        return tool.coroutine is not None
    return type(tool)._arun is not BaseTool._arun
