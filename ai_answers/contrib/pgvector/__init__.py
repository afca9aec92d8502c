"""Vectors searched by PostgreSQL itself: add this app and name its index as the backend.

For sites whose vectors have outgrown the memory of a process, from some 100,000 chunks on. A site
that does not list the app imports and migrates nothing of it.

``index``     the backend, ``PgVectorIndex``, and its options.
``leg``       vectors written, removed and searched.
``graph``     HNSW indexes, built and dropped behind searches.
``sampling``  a few vectors in memory that stand for all of them.
``checks``    E020: the app, or PostgreSQL, is missing.
"""

from __future__ import annotations

from typing import Any

__all__ = ["PgVectorIndex"]


def __getattr__(name: str) -> Any:
    if name != "PgVectorIndex":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .index import PgVectorIndex  # has models, which are not there yet when apps are listed

    return PgVectorIndex
