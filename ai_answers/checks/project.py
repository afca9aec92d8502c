"""Checks of the project around the app.

Out: W004 URLs not included, E006 patched threads, W010 tracing switched on by the environment,
E011 apps, middleware or templates missing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.urls import get_resolver
from django.utils.module_loading import import_string

from ..runs.loop import patched_threads
from .settings import alias_entries

APPS = (
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "rest_framework",
)
OPTIONAL_APPS = ("ai_answers.contrib.pgvector",)
"""Needed where the backend of an index is theirs."""
MIDDLEWARE = (
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
)
TRACING = (
    "LANGSMITH_TRACING",
    "LANGSMITH_TRACING_V2",
    "LANGCHAIN_TRACING",
    "LANGCHAIN_TRACING_V2",
)


@register("ai_answers", Tags.urls)
def check_urls(app_configs, **kwargs) -> list[CheckMessage]:
    """W004: the page could not reach its endpoints."""
    if not getattr(settings, "ROOT_URLCONF", None) or "ai_answers" in get_resolver().app_dict:
        return []
    return [
        Warning(
            "ai_answers.urls is not included in the project's URLs.",
            hint=(
                "Add path('ai-answers/', include('ai_answers.urls')) to the root URLconf, "
                "not inside another namespace."
            ),
            id="ai_answers.W004",
        )
    ]


@register("ai_answers")
def check_threads(app_configs, **kwargs) -> list[CheckMessage]:
    """E006: runs need real threads; the event loop would stall every request of the process."""
    library = patched_threads()
    if library is None:
        return []
    return [
        Error(
            f"{library} has replaced threading in this process; answers need real threads.",
            hint=(
                "Serve with uvicorn, granian, hypercorn, or gunicorn's threads or ASGI worker, "
                f"and do not call {library}'s monkey patching. See docs/deployment.md."
            ),
            id="ai_answers.E006",
        )
    ]


@register("ai_answers", Tags.security)
def check_tracing(app_configs, **kwargs) -> list[CheckMessage]:
    """W010: an environment variable alone sends every prompt to a tracing service."""
    on = [name for name in TRACING if os.environ.get(name, "").lower() in ("true", "1")]
    return [
        Warning(
            f"{name} is set: questions, sources and answers are sent to LangSmith.",
            hint="Unset it unless your visitors know and agree, or silence this check.",
            id="ai_answers.W010",
        )
        for name in on
    ]


@register("ai_answers")
def check_project(app_configs, **kwargs) -> list[CheckMessage]:
    """E011: something this app builds on is not there."""
    missing = [
        (f"{name} must be in INSTALLED_APPS.", f"Add '{name}'.")
        for name in (*APPS, *_apps_of_indexes())
        if not apps.is_installed(name)
    ]
    missing += [
        (f"{path} must be in MIDDLEWARE.", f"Add '{path}' or a subclass of it.")
        for path in MIDDLEWARE
        if not _has_middleware(path)
    ]
    if not any(t.get("BACKEND") in _TEMPLATE_BACKENDS for t in settings.TEMPLATES):
        missing.append(
            (
                "A Django template engine must be in TEMPLATES: blocks and cards are rendered "
                "with it.",
                "Add 'django.template.backends.django.DjangoTemplates' with APP_DIRS.",
            )
        )
    return [Error(message, hint=hint, id="ai_answers.E011") for message, hint in missing]


def _apps_of_indexes() -> list[str]:
    """Return the optional apps whose index is in the settings."""
    entries = [entry for entry in alias_entries("INDEXES").values() if isinstance(entry, Mapping)]
    named = [str(entry.get("BACKEND")) for entry in entries]
    return [app for app in OPTIONAL_APPS if any(path.startswith(f"{app}.") for path in named)]


_TEMPLATE_BACKENDS = ("django.template.backends.django.DjangoTemplates",)


def _has_middleware(path: str) -> bool:
    if path in settings.MIDDLEWARE:
        return True
    wanted = import_string(path)
    return any(_is_subclass(other, wanted) for other in settings.MIDDLEWARE)


def _is_subclass(path: str, wanted: type) -> bool:
    module, _, name = path.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError):
        return False  # Django itself reports a middleware that cannot be imported.
    return isinstance(found, type) and issubclass(found, wanted)
