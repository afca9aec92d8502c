"""How long a prompt may get, and how it is made to fit.

In: the messages of a round. Out: the same, oldest history dropped and oldest tool messages cut
until they keep to ``prompt_bound()``, which is what budgets reckon with. Counts everything that is
sent: system message, tool schemas, arguments of earlier calls. No I/O: feed it messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from ..conf import app_settings
from ..models import Agent
from ..tokens import CHARS_PER_TOKEN, count_tokens
from .errors import failed

INSTRUCTION_TOKENS = 8_000
"""Room beside ``PROMPT_TOKENS``: for instructions, guidance, citation contract, editorial context,
tool schemas, and what stands around the text of sources (titles, headings, delimiters)."""
TOOL_MESSAGE_SHARE = 4
"""One tool message may take this part of ``PROMPT_TOKENS``: a quarter."""
MESSAGE_TOKENS = 4
"""Estimate of what a provider adds around a message."""
CUT = "(Cut here, because it was too long.)"


def prompt_bound() -> int:
    """Return the tokens one round's prompt has at most."""
    return app_settings().PROMPT_TOKENS + INSTRUCTION_TOKENS


def output_bound(agent: Agent) -> int:
    """Return the tokens one round of ``agent`` is expected to write at most."""
    return agent.max_output_tokens or app_settings().MAX_ANSWER_CHARS // CHARS_PER_TOKEN


def tool_message_bound() -> int:
    """Return the tokens one tool message has at most."""
    return app_settings().PROMPT_TOKENS // TOOL_MESSAGE_SHARE


def message_tokens(message: BaseMessage) -> int:
    """Estimate the tokens of ``message``, with the tool calls in it."""
    tokens = MESSAGE_TOKENS + _tokens_of(message.content)
    for call in getattr(message, "tool_calls", None) or []:
        tokens += MESSAGE_TOKENS + count_tokens(call["name"]) + _tokens_of(call["args"])
    return tokens


def schema_tokens(tools: Iterable[BaseTool]) -> int:
    """Estimate the tokens that offering ``tools`` costs in every round."""
    return sum(_tokens_of(convert_to_openai_tool(tool)) for tool in tools)


def fit(
    *,
    system: Sequence[BaseMessage],
    history: Sequence[BaseMessage],
    turn: Sequence[BaseMessage],
    fixed_tokens: int,
    boundary: str,
) -> list[BaseMessage]:
    """Return what to send: ``system``, the newest of ``history``, then all of ``turn``.

    ``turn`` is the question and what followed; its oldest tool messages are cut where it does not
    fit even alone. ``fixed_tokens``: what the tool schemas take.
    Raises ``ModelFailed`` with the code ``context_overflow`` when cutting is not enough.
    """
    room = prompt_bound() - fixed_tokens - sum(map(message_tokens, system))
    sizes = [message_tokens(message) for message in turn]
    kept = list(turn)
    over = sum(sizes) - room
    for place, message in enumerate(turn):
        if over > 0 and isinstance(message, ToolMessage):
            # Never down to nothing: every call must have its result.
            tokens = sizes[place] - MESSAGE_TOKENS - over
            text = cut(message.content, tokens=max(tokens, 0), boundary=boundary)
            kept[place] = message.model_copy(update={"content": text})
            over -= sizes[place] - message_tokens(kept[place])
    if over > 0:
        raise failed(
            "context_overflow",
            f"A prompt is {over} tokens longer than PROMPT_TOKENS and {INSTRUCTION_TOKENS} more.",
        )
    return [*system, *_newest(history, tokens=-over), *kept]


def cut(text: str, *, tokens: int, boundary: str) -> str:
    """Return ``text`` if it has at most ``tokens``, else its beginning with a note to the model.

    The end is a line's where that is near. A block of sources that is cut open is closed again.
    Never shorter than the note, whatever ``tokens`` is.
    """
    head = text[: (tokens + 1) * CHARS_PER_TOKEN]  # the rest cannot fit: no need to count it
    if len(head) == len(text) and count_tokens(text) <= tokens:
        return text
    tail = "\n" + CUT
    room = tokens - count_tokens(tail)
    if boundary and f"<sources-{boundary}>" in head:
        room -= count_tokens(_closing(f"<sources-{boundary}>\n<source-{boundary} ", boundary))
    while head and (counted := count_tokens(head)) > room:
        head = head[: len(head) * max(room, 0) // counted]
    end = head.rfind("\n")
    if end >= len(head) // 2:
        head = head[:end]
    head = head.rstrip()
    return f"{head}{_closing(head, boundary)}{tail}".strip()


def _newest(history: Sequence[BaseMessage], *, tokens: int) -> Sequence[BaseMessage]:
    """Return the end of ``history`` that has at most ``tokens`` and begins with a question."""
    begin = len(history)
    for place in reversed(range(len(history))):
        tokens -= message_tokens(history[place])
        if tokens < 0:
            break
        if history[place].type == "human":
            begin = place
    return history[begin:]


def _tokens_of(content: object) -> int:
    if not isinstance(content, str):
        content = json.dumps(content, ensure_ascii=False, default=str)
    return count_tokens(content)


def _closing(text: str, boundary: str) -> str:
    if not boundary:
        return ""
    lines = []
    for name in ("source", "sources"):
        opened = len(re.findall(rf"^<{name}-{boundary}[ >]", text, re.M))
        if opened > text.count(f"</{name}-{boundary}>"):
            lines.append(f"\n</{name}-{boundary}>")
    return "".join(lines)
