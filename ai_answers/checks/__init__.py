"""System checks: what would go wrong later, said at start-up with what to do about it.

``settings``  the ``AI_ANSWERS`` dict: keys, aliases, dotted paths, numbers.
``indexes``   what an index is made of: vector stores, retrievers, other words than the database's.
``tracing``  who is told of runs and votes.
``services``  how embeddings and rerankers are asked: batches, tries, seconds.
``project``   the project around it: apps, middleware, URLs, tracing, patched threads.
``deployment``  servers, connections, caches: SQLite always, the rest with ``check --deploy``.
``sources``   what is registered: fields that make up no text, folders that are not there.
``database``  what editors saved: agents and index contents, under the ``database`` tag.
``scores``  how agents use their tools: lowest scores and forced arguments, ``database`` tag.

Importing this package registers all of them. Ids are stable and listed in ``docs/checks.md``;
a retired id is not used again.
"""

from . import (  # noqa: F401 - importing registers them
    database,
    deployment,
    indexes,
    project,
    scores,
    services,
    settings,
    sources,
    tracing,
)
