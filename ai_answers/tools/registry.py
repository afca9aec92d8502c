"""Names and the tools they stand for, one registry per process.

In: tools with the name an agent's tool row uses. Out: the tool, or ``None``. No LangChain import:
registering must not slow down a site's start. Test it with any tool; ``unregister_tool`` tidies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..exceptions import ConfigurationError
from ..models import AgentTool

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

# What the strictest providers accept as the name of a function.
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Registration:
    tool: BaseTool
    required: bool


_registrations: dict[str, _Registration] = {}


def register_tool(tool: BaseTool, name: str | None = None, *, required: bool = False) -> BaseTool:
    """Offer ``tool`` to agents under ``name`` (default: its own name); returns it as registered.

    ``required``: an agent that has this tool is reminded once if it wants to answer without it.
    Raises ``ConfigurationError`` for a name no provider takes, the reserved name ``search``, or
    one that another tool has.
    """
    name = name or tool.name
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"A tool cannot be called {name!r}; use 1 to 64 of letters, digits, '_' and '-'."
        )
    if name == AgentTool.SEARCH:
        raise ConfigurationError(f"{name!r} is the built-in search tool; give yours another name.")
    if name != tool.name:
        tool = tool.model_copy(update={"name": name})
    other = _registrations.get(name)
    if other is not None and other.tool != tool:
        raise ConfigurationError(f"There already is a tool called {name!r}: {other.tool!r}.")
    _registrations[name] = _Registration(tool=tool, required=required)
    return tool


def unregister_tool(name: str) -> None:
    """Take the tool called ``name`` out; nothing happens when there is none."""
    _registrations.pop(name, None)


def get_tool(name: str) -> BaseTool | None:
    """Return the tool registered as ``name``, or ``None``."""
    registration = _registrations.get(name)
    return registration.tool if registration else None


def is_required(name: str) -> bool:
    """Whether the tool called ``name`` was registered as required."""
    registration = _registrations.get(name)
    return registration is not None and registration.required


def registered_tools() -> Mapping[str, BaseTool]:
    """Return all registered tools by name, as they are now."""
    return MappingProxyType({name: r.tool for name, r in _registrations.items()})
