"""What a site forces on a tool's arguments, for one agent (T7).

In: a tool and rules by argument name: ``{"value": x}`` always uses x, ``{"choices": [x, y]}``
allows only these, ``{"hidden": true}`` keeps the argument from the model, which then gets the
forced value or the tool's own default. Out: the schema the model is shown, what is kept of the
arguments it wrote, and those the tool is called with. No database, no I/O.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from django.utils.translation import gettext as _

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

Rules = Mapping[str, Mapping[str, Any]]

KNOWN = ("value", "choices", "hidden")

_TYPES = {
    "string": str,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def offered(tool: BaseTool, rules: Rules) -> BaseTool:
    """Return ``tool`` as the model may see it; itself where there are no rules."""
    if not rules:
        return tool
    schema = copy.deepcopy(_schema(tool))
    properties = schema.get("properties", {})
    required = list(schema.get("required", []))
    for name, rule in rules.items():
        if name not in properties:
            continue
        if rule.get("hidden") or "value" in rule:
            # A forced value is not the model's to choose, so it need not see it either.
            del properties[name]
            required = [other for other in required if other != name]
        elif "choices" in rule:
            properties[name]["enum"] = list(rule["choices"])
            if _is_open(properties[name], rule["choices"]):
                properties[name].pop("default", None)
                required = list(dict.fromkeys([*required, name]))
    schema["required"] = required
    schema.setdefault("title", tool.name)
    schema["description"] = tool.description
    return tool.model_copy(update={"args_schema": schema})


def kept(tool: BaseTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return those ``arguments`` that an ``offered`` tool shows the model; it invented the others.

    Among the invented may be what the tool gets from the site alone, such as who is asking.
    """
    schema = _schema(tool)
    if "properties" not in schema or schema.get("additionalProperties"):
        return dict(arguments)
    return {name: value for name, value in arguments.items() if name in schema["properties"]}


def applied(tool: BaseTool, rules: Rules, arguments: Mapping[str, Any]) -> tuple[dict, str]:
    """Return the arguments to call with, and what to tell the model instead; empty: nothing."""
    found = dict(arguments)
    for name, rule in rules.items():
        if "value" in rule:
            found[name] = rule["value"]
        elif "choices" in rule and not rule.get("hidden"):
            if name in found:
                is_allowed = found[name] in rule["choices"]
            else:
                argument = _schema(tool).get("properties", {}).get(name, {})
                is_allowed = not _is_open(argument, rule["choices"])
            if not is_allowed:
                allowed = ", ".join(map(_shown, rule["choices"]))
                return found, f"The argument {name} must be one of: {allowed}. Call the tool again."
    return found, ""


def problems(tool: BaseTool, rules: Any) -> list[str]:
    """Say what is wrong with ``rules`` for ``tool``, each with what would be right."""
    if not isinstance(rules, Mapping):
        return [_('The arguments must be an object, such as {"limit": {"value": 10}}.')]
    return [said for name, rule in rules.items() if (said := _problem(tool, name, rule))]


def described(tool: BaseTool) -> str:
    """Return the arguments of ``tool`` with their types, for those who write rules."""
    schema = _schema(tool)
    required = schema.get("required", [])
    return ", ".join(
        f"{name} ({_kind(argument, schema)}{', required' if name in required else ''})"
        for name, argument in schema.get("properties", {}).items()
    )


def _problem(tool: BaseTool, name: str, rule: Any) -> str:
    schema = _schema(tool)
    properties = schema.get("properties", {})
    said = {"tool": tool.name, "name": name, "known": ", ".join(properties) or "–"}
    if name not in properties:
        return _("“%(tool)s” has no argument “%(name)s”; it has: %(known)s.") % said
    if not isinstance(rule, Mapping) or not rule or set(rule) - set(KNOWN):
        said["known"] = ", ".join(KNOWN)
        return _("The rule for “%(name)s” must be an object with: %(known)s.") % said
    if not isinstance(rule.get("hidden", False), bool):
        return _("Whether “%(name)s” is hidden must be true or false.") % said
    choices = rule.get("choices")
    if "choices" in rule and (not isinstance(choices, list) or not choices):
        return _("The choices for “%(name)s” must be a list that is not empty.") % said
    if "value" in rule and choices and rule["value"] not in choices:
        return _("The value for “%(name)s” must be one of its choices.") % said
    if rule.get("hidden") and "value" not in rule and name in schema.get("required", []):
        return _("“%(name)s” is required: when it is hidden, it needs a value.") % said
    for value in [*(choices or []), *([rule["value"]] if "value" in rule else [])]:
        if not _takes(tool, name, value):
            said["value"] = repr(value)
            return _("“%(tool)s” does not take %(value)s for “%(name)s”.") % said
    return ""


def _schema(tool: BaseTool) -> dict[str, Any]:
    schema = tool.tool_call_schema
    return schema if isinstance(schema, dict) else schema.model_json_schema()


def _is_open(argument: Mapping[str, Any], choices: list[Any]) -> bool:
    """Return whether leaving the argument out would mean something else than the choices."""
    return "default" not in argument or argument["default"] not in choices


def _takes(tool: BaseTool, name: str, value: Any) -> bool:
    """Return whether the tool's own schema accepts the value."""
    schema = tool.args_schema
    field = getattr(schema, "model_fields", {}).get(name)
    if field is None:
        return _fits(_schema(tool)["properties"][name], value)
    from pydantic import TypeAdapter, ValidationError

    try:
        # With the field: its bounds are not part of its annotation.
        TypeAdapter(Annotated[field.annotation, field]).validate_python(value)
    except ValidationError:
        return False
    return True


def _fits(argument: Mapping[str, Any], value: Any) -> bool:
    """Return whether a value has the type that a plain JSON schema names; others pass."""
    if "enum" in argument:
        return value in argument["enum"]
    names = argument.get("type", [])
    types = [_TYPES[n] for n in ([names] if isinstance(names, str) else names) if n in _TYPES]
    if isinstance(value, bool) and bool not in types:
        return not types
    return not types or any(isinstance(value, kind) for kind in types)


def _kind(argument: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return an argument's type, or its values, in a few words."""
    if "$ref" in argument:
        argument = schema.get("$defs", {}).get(argument["$ref"].rpartition("/")[2], {})
    if "enum" in argument:
        return " | ".join(map(_shown, argument["enum"]))
    if "anyOf" in argument:
        return " | ".join(_kind(one, schema) for one in argument["anyOf"])
    kinds = argument.get("type", "any")
    return kinds if isinstance(kinds, str) else " | ".join(map(str, kinds))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
