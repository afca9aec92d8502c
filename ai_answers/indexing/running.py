"""Keeping an index in step with its sources.

In: a source, all of it or some ids. Out: a ``Report``; only what changed is cut, embedded and
written, in short transactions of a few documents. An interrupted run has kept what it wrote and
the next one goes on from there. Any number of processes may do this at once.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterable

from ..conf import app_settings
from ..retrieval import get_index, index_settings
from ..retrieval.embeddings import embedding_identity
from ..sources import Source, registered
from ..values import ObjectKey
from .passes import OnFailure, Pass, Progress
from .preparing import fingerprint
from .report import Report


def index_source(
    source: Source,
    *,
    index: str = "default",
    rebuild: bool = False,
    dry_run: bool = False,
    since: datetime.datetime | None = None,
    progress: Progress | None = None,
    on_failure: OnFailure | None = None,
) -> Report:
    """Bring ``index`` in step with ``source``.

    ``since``: look only at objects that changed at or after that moment, and so remove only
    what is among them.

    ``rebuild``: write everything anew; each document is replaced at once, so searches go on.
    ``dry_run``: only count. Raises ``EmbeddingFailed`` and ``ConfigurationError``; an object
    whose texts cannot be read is logged, counted as failed and handed to ``on_failure``.
    """
    started = time.monotonic()
    run = Pass(
        source,
        index,
        rebuild=rebuild,
        dry_run=dry_run,
        patient=True,
        progress=progress,
        on_failure=on_failure,
    )
    if since is not None:
        run.update(_texts(source.get_changed_since(since)))
        return run.end(time.monotonic() - started)
    # The index is asked first, so that what is created meanwhile is not taken for deleted.
    known = {entity_id for entity_id, _ in run.index.stored(source.name)}
    ids = _texts(source.get_ids())
    run.update(ids)
    run.take_out(sorted(known.difference(ids)))
    return run.end(time.monotonic() - started)


def index_objects(
    source: Source, ids: Iterable[str], *, index: str | None = None, vectors: bool = True
) -> Report:
    """Bring some objects in step, in one index or (``None``) in all that hold the source.

    Objects that are gone, or out of the source's queryset, are removed. Without ``vectors`` no
    embedding is called; the documents stay marked as lacking them.
    """
    started = time.monotonic()
    wanted = _texts(ids)
    total = Report()
    for alias in [index] if index else indexes_of(source):
        run = Pass(source, alias, vectors=vectors)
        run.update(wanted)
        total += run.end(0.0)
    return total + Report(seconds=time.monotonic() - started)


def remove_objects(source: Source, ids: Iterable[str], *, index: str | None = None) -> int:
    """Take objects out of one index or (``None``) all; return how many documents went."""
    keys = [ObjectKey(source.name, str(entity_id)) for entity_id in ids]
    return sum(
        get_index(alias).remove(keys) for alias in ([index] if index else indexes_of(source))
    )


def indexes_of(source: Source) -> list[str]:
    """Return the aliases of the indexes that hold ``source``."""
    aliases = app_settings().INDEXES
    return [alias for alias in aliases if is_in_index(source, alias)]


def is_in_index(source: Source, alias: str) -> bool:
    names = index_settings(alias).sources
    return (names is None or source.name in names) and not get_index(alias).is_read_only


def _texts(ids: Iterable[object]) -> list[str]:
    return list(dict.fromkeys(map(str, ids)))  # a queryset with a join may repeat them


def is_stale(alias: str) -> str | None:
    """Say why ``alias`` needs another ``ai_answers_index``; ``None`` when it is as set."""
    settings, index = index_settings(alias), get_index(alias)
    embedding = embedding_identity(settings.embedding)
    counts = {
        source.name: index.outdated(
            source.name, fingerprint=fingerprint(settings, source), embedding=embedding
        )
        for source in registered()
        if is_in_index(source, alias)
    }
    stale = {name: count for name, count in counts.items() if count}
    if not stale:
        return None
    return (
        f"{sum(stale.values())} of {index.stats().documents} documents in index {alias!r} were "
        f"indexed with another embedding, chunk size or fields ({', '.join(stale)}); "
        "run ai_answers_index."
    )
