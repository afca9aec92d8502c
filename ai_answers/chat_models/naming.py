"""What a chat model is called by those who bill and watch it.

In: an alias of ``CHAT_MODELS`` and the name an agent sets in its place. Out: names. Builds and
imports nothing. Test it with ``override_settings``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..conf import app_settings
from .aliases import MODEL_NAMES


def model_name(alias: str, chosen: str = "") -> str:
    """Return the vendor's name of the model: the agent's choice, the option's, else the alias."""
    options = _entry(alias).get("OPTIONS") or {}
    given = (options.get(name) for name in MODEL_NAMES)
    return chosen or next((str(name) for name in given if name), alias)


def provider_name(alias: str) -> str:
    """Return who provides it, told by the package of its class: ``openai``, ``ollama`` …"""
    package = str(_entry(alias).get("BACKEND", "")).partition(".")[0]
    return package.removeprefix("langchain_")


def _entry(alias: str) -> Mapping[str, Any]:
    # No alias at all is somebody else's to report.
    return app_settings().CHAT_MODELS.get(alias) or {}
