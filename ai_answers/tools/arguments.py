"""What a site forces on a tool's arguments, for one agent (T7).

In: a tool and rules by argument name: ``{"value": x}`` always uses x, ``{"choices": [x, y]}``
allows only these, ``{"hidden": true}`` keeps the argument from the model, which then gets the
forced value or the tool's own default. Out: the schema the model is shown, and the arguments the
tool is called with. No database, no I/O.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

Rules = Mapping[str, Mapping[str, Any]]

KNOWN = ("value", "choices", "hidden")


def offered(tool: BaseTool, rules: Rules) -> BaseTool:
    """Return ``tool`` as the model may see it; itself where there are no rules."""
    if not rules:
        return tool
    schema = copy.deepcopy(_schema(tool))
    properties = schema.get("properties", {})
    for name, rule in rules.items():
        if name not in properties:
            continue
        if rule.get("hidden") or "value" in rule:
            # A forced value is not the model's to choose, so it need not see it either.
            del properties[name]
            schema["required"] = [n for n in schema.get("required", []) if n != name]
        elif "choices" in rule:
            properties[name]["enum"] = list(rule["choices"])
    schema.setdefault("title", tool.name)
    schema["description"] = tool.description
    return tool.model_copy(update={"args_schema": schema})


def applied(rules: Rules, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the arguments to call with, and what to tell the model instead; empty: nothing."""
    found = dict(arguments)
    for name, rule in rules.items():
        if "value" in rule:
            found[name] = rule["value"]
        elif rule.get("hidden"):
            found.pop(name, None)
        elif "choices" in rule and name in found and found[name] not in rule["choices"]:
            allowed = ", ".join(map(str, rule["choices"]))
            return found, f"The argument {name} must be one of: {allowed}. Call the tool again."
    return found, ""


def problems(tool: BaseTool, rules: Any) -> list[str]:
    """Say what is wrong with ``rules`` for ``tool``, each with what would be right."""
    if not isinstance(rules, Mapping):
        return ['The arguments must be an object, such as {"limit": {"value": 10}}.']
    schema = _schema(tool)
    properties, required = schema.get("properties", {}), schema.get("required", [])
    found = []
    for name, rule in rules.items():
        if name not in properties:
            known = ", ".join(properties) or "none"
            found.append(f"The tool {tool.name!r} has no argument {name!r}; it has: {known}.")
        elif not isinstance(rule, Mapping) or not rule or set(rule) - set(KNOWN):
            found.append(f"The rule for {name!r} must have one of: {', '.join(KNOWN)}.")
        elif "choices" in rule and (not isinstance(rule["choices"], list) or not rule["choices"]):
            found.append(f"The choices for {name!r} must be a list that is not empty.")
        elif "value" in rule and rule.get("choices") and rule["value"] not in rule["choices"]:
            found.append(f"The value for {name!r} must be one of its choices.")
        elif rule.get("hidden") and "value" not in rule and name in required:
            found.append(f"{name!r} is required: a hidden one needs a value.")
        elif "value" in rule and not _takes(tool, name, rule["value"]):
            found.append(f"The tool {tool.name!r} does not take {rule['value']!r} for {name!r}.")
    return found


def _schema(tool: BaseTool) -> dict[str, Any]:
    schema = tool.tool_call_schema
    return schema if isinstance(schema, dict) else schema.model_json_schema()


def _takes(tool: BaseTool, name: str, value: Any) -> bool:
    """Return whether the tool's own schema accepts the value; one that is a dict is not asked."""
    schema = tool.args_schema
    field = getattr(schema, "model_fields", {}).get(name)
    if field is None:
        return True
    from pydantic import TypeAdapter, ValidationError

    try:
        TypeAdapter(field.annotation).validate_python(value)
    except ValidationError:
        return False
    return True
