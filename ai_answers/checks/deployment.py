"""Checks of servers, connections and caches.

Out: W009 SQLite options, always; with ``check --deploy`` also W005 extractive model, W007
connections under ASGI, W008 cache of the throttles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register
from django.db import connections, router

from ..bursts import THREADS
from ..conf import Settings
from ..models import Agent
from .settings import alias_entries

EXTRACTIVE = "ai_answers.chat_models.extractive.ExtractiveChatModel"
UNSHARED_CACHES = (
    "django.core.cache.backends.locmem.LocMemCache",
    "django.core.cache.backends.dummy.DummyCache",
)


def _database() -> Any:
    return connections[router.db_for_write(Agent)]


@register("ai_answers", deploy=True)
def check_chat_model(app_configs, **kwargs) -> list[CheckMessage]:
    """W005: visitors get quotations, not written answers."""
    entry = alias_entries("CHAT_MODELS").get("default")
    if not isinstance(entry, Mapping) or entry.get("BACKEND") != EXTRACTIVE:
        return []
    return [
        Warning(
            "The default chat model is the built-in extractive one: it quotes sentences of the "
            "sources and writes nothing of its own.",
            hint="Set AI_ANSWERS['CHAT_MODELS']['default'] to a language model; see "
            "docs/chat-models.md.",
            id="ai_answers.W005",
        )
    ]


@register("ai_answers", deploy=True)
def check_connections(app_configs, **kwargs) -> list[CheckMessage]:
    """W007: connections that outlive their use, or a pool that is too small for the bursts."""
    database = _database().settings_dict
    messages = []
    if getattr(settings, "ASGI_APPLICATION", None) and database["CONN_MAX_AGE"] != 0:
        messages.append(
            (
                f"CONN_MAX_AGE is {database['CONN_MAX_AGE']!r} and the project has an "
                "ASGI_APPLICATION: under ASGI such connections are never used again.",
                "Set it to 0; use the database's pool or PgBouncer to save connecting.",
            )
        )
    pool = database.get("OPTIONS", {}).get("pool")
    if pool and (size := _pool_size(pool)) < THREADS + 2:
        messages.append(
            (
                f"The connection pool holds at most {size} connections; answers alone use up to "
                f"{THREADS} for moments at a time, besides the requests.",
                f"Set OPTIONS['pool'] to {{'min_size': 2, 'max_size': {2 * THREADS}}} or more "
                "in each process, or leave the pool out.",
            )
        )
    return [Warning(message, hint=hint, id="ai_answers.W007") for message, hint in messages]


def _pool_size(pool: Any) -> int:
    """Return the pool's largest size; psycopg_pool's default is its smallest size, 4."""
    options = pool if isinstance(pool, Mapping) else {}
    return options.get("max_size") or options.get("min_size", 4)


@register("ai_answers", deploy=True)
def check_cache(app_configs, **kwargs) -> list[CheckMessage]:
    """W008: throttles count in the cache, so every process must see the same one."""
    rates = (Settings().THROTTLE | alias_entries("THROTTLE")).values()  # as it is in force
    backend = settings.CACHES.get("default", {}).get("BACKEND")
    if not any(rates) or backend not in UNSHARED_CACHES:
        return []
    return [
        Warning(
            f"The default cache is {backend!r}: each process counts questions for itself, so "
            "the THROTTLE rates hold per process or not at all.",
            hint="Use a shared cache (Redis, Memcached, database), or serve with one process.",
            id="ai_answers.W008",
        )
    ]


@register("ai_answers", Tags.models)
def check_sqlite(app_configs, **kwargs) -> list[CheckMessage]:
    """W009: SQLite's defaults fail with "database is locked" as soon as two answers are saved."""
    connection = _database()
    if connection.vendor != "sqlite" or _in_memory(str(connection.settings_dict["NAME"])):
        return []
    missing = list(_missing_sqlite_options(connection.settings_dict.get("OPTIONS", {})))
    if not missing:
        return []
    return [
        Warning(
            f"SQLite is used without {' and '.join(missing)}; answers written at the same time "
            "can fail with “database is locked”.",
            hint=(
                "Set the database's OPTIONS to {'transaction_mode': 'IMMEDIATE', 'timeout': 20, "
                "'init_command': 'PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;'}."
            ),
            id="ai_answers.W009",
        )
    ]


def _in_memory(name: str) -> bool:
    return name == "" or ":memory:" in name or "mode=memory" in name


def _missing_sqlite_options(options: Mapping[str, Any]) -> Iterator[str]:
    if str(options.get("transaction_mode") or "").upper() not in ("IMMEDIATE", "EXCLUSIVE"):
        yield "transaction_mode IMMEDIATE"
    command = "".join(str(options.get("init_command") or "").lower().split())
    if "journal_mode=wal" not in command:
        yield "journal_mode WAL"
