"""Build the chat model an alias of ``CHAT_MODELS`` names, once per process and set of overrides.

In: an alias and what an agent overrides. Out: a LangChain chat model, shared, because a client
of its own per run costs connections and, under load, several times the time to a first token.
Holds back nothing. Test it with ``override_settings``: a changed entry builds a new model.
"""

from __future__ import annotations

import inspect
import logging
import os
import re
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..bursts import receiver_burst
from ..conf import alias_settings, import_part
from ..exceptions import ConfigurationError
from .kept_fields import with_kept_fields

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

logger = logging.getLogger(__name__)

# What the vendors call the same option; the first one that a class takes is used.
MODEL_NAMES = ("model", "model_name", "model_id")
TEMPERATURES = ("temperature",)
OUTPUT_LIMITS = ("max_tokens", "max_output_tokens", "max_completion_tokens", "num_predict")
ENDPOINTS = ("base_url", "openai_api_base", "azure_endpoint", "endpoint", "endpoint_url")

# ``api_key`` and ``aws_session_token``, but not ``max_tokens``, ``key_prefix`` or ``keywords``.
_SECRET_NAME = re.compile(r"(?:^|_)(?:api)?(?:key|token|secret)(?:_id)?$")

Overrides = tuple[tuple[tuple[str, ...], Any], ...]

_lock = threading.Lock()
_models: dict[tuple[int, str, Overrides], list[tuple[Mapping[str, Any], Any]]] = {}
"""Models by process, alias and overrides, each with the setting it was built from. One whose
setting has changed stays: only its own loop could close its connections."""
_retired: list[Any] = []
"""What was used on a loop that is gone: let go, it would complain of connections left open."""


def get_chat_model(
    alias: str = "default",
    *,
    model_name: str = "",
    temperature: float | None = None,
    max_output_tokens: int | None = None,
) -> BaseChatModel:
    """Return the shared chat model of ``alias`` with these overrides; empty ones do not count.

    Raises ``ConfigurationError`` when the alias is unknown, its backend cannot be imported or
    built, or the backend has no option for an override.
    """
    entry = alias_settings("CHAT_MODELS", alias)
    overrides = _overrides(model_name, temperature, max_output_tokens)
    # By process, because a forked worker must not share its parent's sockets.
    key = (os.getpid(), alias, overrides)
    with _lock:
        model = _known(key, entry)
        if model is None:
            model = _build(alias, entry, overrides)
            _models.setdefault(key, []).append((entry, model))
        return model


async def aget_chat_model(alias: str = "default", **overrides: Any) -> BaseChatModel:
    """Return ``get_chat_model(…)``; a first use is built off the loop: imports take seconds."""
    key = (os.getpid(), alias, _overrides(**_defaults(overrides)))
    model = _known(key, alias_settings("CHAT_MODELS", alias))
    if model is not None:
        return model
    return await receiver_burst(get_chat_model, alias, **overrides)


def forget_models() -> None:
    """Build all models anew when they are next asked for: the loop they were used on is gone."""
    with _lock:
        _retired.extend(_models.values())
        _models.clear()


def endpoint(entry: Mapping[str, Any]) -> str:
    """Return the address ``entry`` gives in its options, without anything secret; or ``""``."""
    options = entry.get("OPTIONS") or {}
    given = next((str(options[name]) for name in ENDPOINTS if options.get(name)), "")
    # A password may stand before the host, a key behind the path.
    return re.sub(r"^([^/]*//)?[^/@]*@", r"\1", re.split(r"[?#]", given)[0])


def empty_secrets(options: Mapping[str, Any]) -> list[str]:
    """Return the options that are named like a key, token or secret and hold an empty text.

    ``None`` does not count: most vendors' classes read an environment variable then.
    """
    return [name for name, value in _secrets(options) if _is_empty(value)]


def _secrets(options: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [item for item in options.items() if _SECRET_NAME.search(str(item[0]).lower())]


def _is_empty(value: Any) -> bool:
    reveal = getattr(value, "get_secret_value", None)
    text = reveal() if callable(reveal) else value
    return isinstance(text, str) and not text.strip()


def _known(key: tuple[int, str, Overrides], entry: Mapping[str, Any]) -> Any:
    return next((model for known, model in _models.get(key, ()) if known == entry), None)


def _defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"model_name": "", "temperature": None, "max_output_tokens": None, **given}


def _overrides(
    model_name: str, temperature: float | None, max_output_tokens: int | None
) -> Overrides:
    wanted = (
        (MODEL_NAMES, model_name or None),
        (TEMPERATURES, temperature),
        (OUTPUT_LIMITS, max_output_tokens),
    )
    return tuple((names, value) for names, value in wanted if value is not None)


def _build(alias: str, entry: Mapping[str, Any], overrides: Overrides) -> Any:
    setting = f"AI_ANSWERS['CHAT_MODELS'][{alias!r}]"
    backend = with_kept_fields(import_part(entry["BACKEND"], setting=setting))
    options = dict(entry.get("OPTIONS") or {})
    takes = _parameters(backend)
    for names, value in overrides:
        options = {name: given for name, given in options.items() if name not in names}
        chosen = next((name for name in names if takes is None or name in takes), None)
        if chosen is None:
            raise ConfigurationError(
                f"{setting}: {entry['BACKEND']!r} has no option to override with {value!r}; "
                f"it would be called {' or '.join(names)}."
            )
        options[chosen] = value
    _complete(backend, options)
    try:
        model = backend(**options)
    except Exception as error:
        # The options may hold a key, and so may the error: only its kind is repeated.
        logger.debug("%s could not be built.", setting, exc_info=error)
        address = endpoint(entry)
        empty = "".join(
            f" {name!r} is empty."
            for name, value in _secrets(options)
            if value is None or _is_empty(value)
        )
        raise ConfigurationError(
            f"{setting}{f' at {address}' if address else ''}: {entry['BACKEND']!r} could not be "
            f"built with the options {sorted(options)}: {type(error).__name__}.{empty}"
        ) from None
    if not hasattr(model, "astream"):
        raise ConfigurationError(
            f"{setting}: {entry['BACKEND']!r} must give a LangChain chat model, not "
            f"{type(model).__name__}."
        )
    return model


def _parameters(backend: Any) -> set[str] | None:
    """Return the names ``backend`` can be called with; ``None`` means any."""
    fields = getattr(backend, "model_fields", None)
    if isinstance(fields, dict):
        aliases = {field.alias for field in fields.values() if field.alias}
        return set(fields) | aliases
    parameters = inspect.signature(backend).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return {p.name for p in parameters}


def _complete(backend: Any, options: dict[str, Any]) -> None:
    """Add what ``ChatOpenAI`` needs here and would not do by itself.

    It asks for usage only at its vendor's address. A server that refuses the option needs
    ``"stream_usage": False`` in ``OPTIONS``; usage is estimated then.

    Tries and timers are the agent's: it knows how much time is left and can ask another model. The
    class's own timer may swallow a stop before Python 3.12.

    It shares one HTTP client among all models of the process with the same address, and a client
    belongs to the loop that used it first: a site's own async view would take ours, or we its.
    """
    module = getattr(backend, "__module__", "")
    if not module.startswith("langchain_openai."):
        return
    takes = _parameters(backend) or set()
    if "stream_usage" in takes:
        options.setdefault("stream_usage", True)
    for name, ours in (("max_retries", 0), ("stream_chunk_timeout", None)):
        if name in takes:
            options.setdefault(name, ours)
    if "http_async_client" in takes:
        from openai import DefaultAsyncHttpxClient

        options.setdefault("http_async_client", DefaultAsyncHttpxClient())
