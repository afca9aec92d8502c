"""Names and the tools they stand for, one registry per process.

In: tools with the name an agent's tool row uses. Out: the tool, or ``None``. No LangChain import:
registering must not slow down a site's start. Test it with any tool; ``unregister_tool`` tidies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..conf import import_part
from ..exceptions import ConfigurationError
from ..models import AgentTool

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

# What the strictest providers accept as the name of a function.
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(slots=True, kw_only=True)
class _Registration:
    tool: BaseTool | str
    """The tool, or its dotted path until it is first asked for."""
    required: bool


_registrations: dict[str, _Registration] = {}


def register_tool(
    tool: BaseTool | str, name: str | None = None, *, required: bool = False
) -> BaseTool | str:
    """Offer ``tool`` to agents under ``name`` (default: its own name); returns it as registered.

    A dotted path needs a name and is imported at the first use: LangChain takes its time, and
    most processes of a site call no tool. ``required``: an agent that has this tool is reminded
    once if it wants to answer without it. Raises ``ConfigurationError`` for a name no provider
    takes, the reserved name ``search``, or one that another tool has.
    """
    name = name or ("" if isinstance(tool, str) else tool.name)
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"A tool cannot be called {name!r}; use 1 to 64 of letters, digits, '_' and '-'."
        )
    if name == AgentTool.SEARCH:
        raise ConfigurationError(f"{name!r} is the built-in search tool; give yours another name.")
    tool = tool if isinstance(tool, str) else _named(tool, name)
    other = _registrations.get(name)
    if other is not None and other.tool != tool:
        raise ConfigurationError(f"There already is a tool called {name!r}: {other.tool!r}.")
    _registrations[name] = _Registration(tool=tool, required=required)
    return tool


def unregister_tool(name: str) -> None:
    """Take the tool called ``name`` out; nothing happens when there is none."""
    _registrations.pop(name, None)


def get_tool(name: str) -> BaseTool | None:
    """Return the tool registered as ``name``, or ``None``.

    Raises ``ConfigurationError`` when a dotted path leads nowhere.
    """
    registration = _registrations.get(name)
    if registration is None:
        return None
    if isinstance(registration.tool, str):
        made = import_part(registration.tool, setting=f"The tool {name!r}")
        registration.tool = _named(made, name)
    return registration.tool


def is_required(name: str) -> bool:
    """Whether the tool called ``name`` was registered as required."""
    registration = _registrations.get(name)
    return registration is not None and registration.required


def registered_tools() -> list[str]:
    """Return the names of all registered tools, as they are now."""
    return list(_registrations)


def _named(tool: BaseTool, name: str) -> BaseTool:
    return tool if tool.name == name else tool.model_copy(update={"name": name})
