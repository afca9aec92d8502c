"""Names of span attributes, and messages in the form that the GenAI conventions give them.

The names are written out: the package that has them, ``opentelemetry-semantic-conventions``, calls
its GenAI part unstable and renames it between minor versions. A test compares them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ...agents.text import clean_text, text_of
from ...answers.tracing import RunStart

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
AGENT_ID = "gen_ai.agent.id"
AGENT_NAME = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
MODEL = "gen_ai.request.model"
TEMPERATURE = "gen_ai.request.temperature"
MAX_TOKENS = "gen_ai.request.max_tokens"
STREAM = "gen_ai.request.stream"
FINISH_REASONS = "gen_ai.response.finish_reasons"
FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
ERROR_TYPE = "error.type"

TURN = "ai_answers.turn"
LANGUAGE = "ai_answers.language"
OUTCOME = "ai_answers.outcome"
ROUND = "ai_answers.round"

_ROLES = {"human": "user", "ai": "assistant"}


def of_request(run: RunStart) -> dict[str, Any]:
    """Return what is asked of the model; what is not set is left out."""
    given = {
        PROVIDER: run.provider,
        MODEL: run.model,
        TEMPERATURE: run.temperature,
        MAX_TOKENS: run.max_output_tokens,
    }
    return {name: value for name, value in given.items() if value not in (None, "")}


def of_run(run: RunStart, *, keep_text: bool) -> dict[str, Any]:
    """Return the attributes of the span of a whole run.

    No usage: that is its model calls', and who adds up all spans would count it twice.
    """
    attributes = {
        OPERATION: "invoke_agent",
        AGENT_ID: run.agent,
        AGENT_NAME: run.agent_name,
        CONVERSATION: run.conversation,
        TURN: run.turn,
        LANGUAGE: run.language,
    }
    if keep_text:
        attributes[INPUT_MESSAGES] = text_message("user", run.question)
    return of_request(run) | attributes


def text_message(role: str, text: str, **more: Any) -> str:
    """Return JSON of one message that is all text."""
    return as_json([{"role": role, "parts": [{"type": "text", "content": text}], **more}])


def prompt(messages: Sequence[Any]) -> str:
    """Return JSON of LangChain ``messages``."""
    return as_json(
        [{"role": _ROLES.get(m.type, m.type), "parts": list(_parts(m))} for m in messages]
    )


def _parts(message: Any) -> Sequence[dict[str, Any]]:
    text = clean_text(text_of(message.content))
    if message.type == "tool":
        return [{"type": "tool_call_response", "id": message.tool_call_id, "response": text}]
    calls = [
        {"type": "tool_call", "id": c["id"], "name": c["name"], "arguments": c["args"]}
        for c in getattr(message, "tool_calls", None) or []
    ]
    return [*([{"type": "text", "content": text}] if text else []), *calls]


def as_json(value: Any) -> str:
    """Return JSON of whatever a model, a tool or a receiver made."""
    return json.dumps(value, ensure_ascii=False, default=str)
