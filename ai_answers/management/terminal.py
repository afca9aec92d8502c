"""What the commands share about the terminal they write to.

``printable`` makes a text safe for it, ``quiet_logs`` keeps tracebacks off it, ``tables_needed``
turns one of the first mistakes there are, no ``migrate``, into a sentence. Holds back nothing.
Test it by running the commands.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import (
    DatabaseError,
    OperationalError,
    ProgrammingError,
    connections,
    router,
)

from ..models import Agent
from ..rendering.sanitise import clean_text, drop_hidden

LOGGER = "ai_answers"


def printable(text: str) -> str:
    """Return ``text`` without what drives a terminal, turns its text around or hides in it."""
    return drop_hidden(clean_text(text)).replace("\r", "")


@contextmanager
def quiet_logs(*, unless: bool = False) -> Iterator[None]:
    """Print no log lines where the project has set up no logging; ``unless`` changes nothing.

    Python prints errors that no handler takes, tracebacks included. A handler of the project
    still gets all of them.
    """
    if unless:
        yield
        return
    logger, silent = logging.getLogger(LOGGER), logging.NullHandler()
    logger.addHandler(silent)
    try:
        yield
    finally:
        logger.removeHandler(silent)


@contextmanager
def tables_needed() -> Iterator[None]:
    """Raise ``CommandError`` instead of a database error about a table not migrated yet."""
    try:
        yield
    except (OperationalError, ProgrammingError) as error:
        missing = _missing_tables()
        named = [table for table in missing if table in str(error)]
        if not named:
            raise
        if any(table.startswith(f"{Agent._meta.app_label}_") for table in missing):
            raise CommandError("The tables are missing; run manage.py migrate.") from error
        raise CommandError(
            f"The table {max(named, key=len)!r} is missing; run manage.py migrate, and "
            "makemigrations before it if its app is new."
        ) from error


def _missing_tables() -> set[str]:
    """Return the tables of models that the database does not have."""
    introspection = connections[router.db_for_write(Agent)].introspection
    try:
        there_are = introspection.table_names()
    except DatabaseError:  # no database to be asked; the error at hand tells more
        return set()
    return set(introspection.django_table_names(only_existing=False)).difference(there_are)
