"""Tell whether a dotted path leads somewhere, as a rule without importing it.

A vendor's package may take seconds to import, and checks run with every management command.
So a module that is not loaded yet is looked up on disk; only when the name does not even occur
in its source is it imported, to be sure. A hook is code of the site itself, so it is imported.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from django.utils.module_loading import import_string


def problem_with(path: str) -> str:
    """Say why ``path`` (``package.module.Name``) cannot be imported; empty when it can."""
    module, dot, name = path.rpartition(".")
    if not dot or not all(part.isidentifier() for part in path.split(".")):
        return "it is not a dotted path."
    if module not in sys.modules and _defines(_find(module), name):
        return ""
    return _import(path)[1]


def is_installed(package: str) -> bool:
    """Return whether ``package`` can be found; what stands above it is imported."""
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def problem_with_callable(value: Any) -> str:
    """Say why ``value`` is neither a callable nor the dotted path of one; empty when it is."""
    if isinstance(value, str):
        if not value.rpartition(".")[0]:
            return "it is not a dotted path."
        value, problem = _import(value)
        if problem:
            return problem
    return "" if callable(value) else "it is not callable."


def _import(path: str) -> tuple[Any, str]:
    try:
        return import_string(path), ""
    except ImportError as error:
        return None, f"{error}."
    except Exception as error:  # a vendor's module may raise anything while it loads
        return None, f"importing it raised {type(error).__name__}: {error}."


def _find(module: str) -> ModuleSpec | None:
    """Find a module's spec; unlike ``find_spec``, without importing its parents."""
    first, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(first)
    except (ImportError, ValueError):
        return None
    for number in range(len(rest)):
        if spec is None or spec.submodule_search_locations is None:
            return None
        name = ".".join([first, *rest[: number + 1]])
        try:
            spec = PathFinder.find_spec(name, spec.submodule_search_locations)
        except KeyError:  # namespace packages in one another ask for the outer one to be imported
            return None
    return spec


def _defines(spec: ModuleSpec | None, name: str) -> bool:
    """Whether ``name`` occurs in the module's source as a word."""
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        return False
    try:
        source = Path(spec.origin).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return re.search(rf"\b{re.escape(name)}\b", source) is not None
