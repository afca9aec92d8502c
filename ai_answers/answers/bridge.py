"""The answers part of the agent's signals (S34–S47).

The prompt receiver adds what makes an agent cite: the citation contract, the agent's guidance and
the numbered sources, behind the agent's own instructions (S38). The tool receiver hands the
structured output to the turn and puts the numbered sources into the message that the model
reads next (S45).

Both act only for the run whose context is set and whose agent is the sender (S37, S41).
"""

from __future__ import annotations

from typing import Any

from ..agents.context import current
from ..agents.prompts import CITATION_CONTRACT, SystemPrompt
from ..agents.tools import ToolCall, ToolMessageText
from ..signals import light, pre_system_prompt, tool_finished

PROMPT_PRIORITY = 10  # above editorial context at 0, which layers on top (S36, S39)


@light
def add_answer_rules(sender: Any, *, run_id: str, prompt: SystemPrompt, **kwargs: Any) -> None:
    context = current.get()
    if context is None or context.run_id != run_id or context.agent.pk != sender.pk:
        return
    prompt.append(str(CITATION_CONTRACT))
    prompt.append(context.agent.guidance)
    prompt.append(context.sources_block())


@light
def take_tool_output(
    sender: Any,
    *,
    run_id: str,
    call: ToolCall,
    output: Any,
    message: ToolMessageText,
    **kwargs: Any,
) -> None:
    context = current.get()
    if context is None or context.run_id != run_id or context.agent.pk != sender.pk:
        return
    replacement = context.on_tool_output(call, output, message.text)
    if replacement is not None:
        message.text = replacement


def connect() -> None:
    """Connect both receivers; called once when the app is ready."""
    pre_system_prompt.connect(add_answer_rules, priority=PROMPT_PRIORITY)
    tool_finished.connect(take_tool_output, priority=0)
