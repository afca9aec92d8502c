"""What one run knows, reachable from the signals and tools it calls.

In: a context made when the run starts. Out: the same, to anything running on its behalf.
Holds back nothing. No I/O: test it with two tasks that each enter their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ..models import Agent
from ..values import Asker, Usage
from .tools import ToolCall


@dataclass(slots=True, kw_only=True)
class AgentRunContext:
    """One run of one agent (S35)."""

    run_id: str
    agent: Agent
    """With ``tools`` prefetched: no query may happen on the loop thread."""
    asker: Asker
    boundary: str
    """The random mark that delimits source text in this run's prompts."""
    sources_block: Callable[[], str]
    """Returns the sources numbered so far, as the model reads them; empty when none."""
    on_tool_output: Callable[[ToolCall, Any, str], str | None]
    """Takes a tool's structured output and its message; returns the message the model gets
    instead, or ``None``."""
    usage: Usage = Usage()
    """Tokens used so far; kept by the loop, also for a round that is cut off."""


current: ContextVar[AgentRunContext | None] = ContextVar("ai_answers_run", default=None)
"""The run on whose behalf this code is running.

Receivers compare its agent with the signal's sender before they act (S37, S41).
"""


@contextmanager
def running(context: AgentRunContext) -> Iterator[AgentRunContext]:
    """Make ``context`` the current one.

    Read the run's events to their end inside the block: later rounds happen while they are read
    and would find no sources after it (S29, S30).
    """
    token = current.set(context)
    try:
        yield context
    finally:
        current.reset(token)
