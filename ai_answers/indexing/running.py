"""Keeping an index in step with its sources.

In: a source, all of it or some ids. Out: a ``Report``; only what changed is cut, embedded and
written, in short transactions of a few documents. An interrupted run has kept what it wrote and
the next one goes on from there. Any number of processes may do this at once.
"""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Callable, Iterable, Sequence

from ..conf import app_settings
from ..exceptions import AnswersError
from ..retrieval import Index, IndexSettings, Stored, get_index, index_settings
from ..retrieval.embeddings import embedding_identity
from ..signals import content_indexed
from ..sources import Source, registered
from ..values import Document, ObjectKey
from .preparing import Prepared, entries, fingerprint, prepare, stored_as
from .report import Report

logger = logging.getLogger(__name__)

OBJECTS = 100
"""Objects loaded with one query."""
CHUNKS = 128
"""Chunks after which a batch is embedded and written."""

Known = dict[str, dict[str, Stored]]
"""What an index holds of a source: by entity id, then by language."""
Progress = Callable[[int, int], None]
"""Called with objects done and objects in all."""
OnFailure = Callable[[str, Exception], None]
"""Called with the entity id of an object whose texts could not be read, and why."""


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
    ids = source.get_ids() if since is None else source.get_changed_since(since)
    run = _Run(source, index, rebuild=rebuild, dry_run=dry_run, on_failure=on_failure)
    known = _by_id(run.index.stored(source.name, None if since is None else ids))
    for start in range(0, len(ids), OBJECTS):
        run.update(ids[start : start + OBJECTS], known)
        if progress is not None:
            progress(min(start + OBJECTS, len(ids)), len(ids))
    run.flush()
    run.remove(known.keys() - set(ids), known)  # with ``since`` there are none
    return run.end(time.monotonic() - started)


def index_objects(
    source: Source, ids: Iterable[str], *, index: str | None = None, vectors: bool = True
) -> Report:
    """Bring some objects in step, in one index or (``None``) in all that hold the source.

    Objects that are gone, or out of the source's queryset, are removed. Without ``vectors`` no
    embedding is called; the documents stay marked as lacking them.
    """
    started = time.monotonic()
    wanted = list(dict.fromkeys(map(str, ids)))
    total = Report()
    for alias in [index] if index else indexes_of(source):
        run = _Run(source, alias, vectors=vectors)
        for start in range(0, len(wanted), OBJECTS):
            batch = wanted[start : start + OBJECTS]
            run.update(batch, _by_id(run.index.stored(source.name, batch)))
        run.flush()
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


def _by_id(stored: dict[tuple[str, str], Stored]) -> Known:
    known: Known = {}
    for (entity_id, language), value in stored.items():
        known.setdefault(entity_id, {})[language] = value
    return known


class _Run:
    """One pass over objects of a source into one index."""

    def __init__(
        self,
        source: Source,
        alias: str,
        *,
        rebuild: bool = False,
        dry_run: bool = False,
        vectors: bool = True,
        on_failure: OnFailure | None = None,
    ) -> None:
        self.source = source
        self.alias = alias
        self.index: Index = get_index(alias)
        self.settings: IndexSettings = index_settings(alias)
        self.rebuild = rebuild
        self.dry_run = dry_run
        self.vectors = vectors
        self.on_failure = on_failure
        self.report = Report()
        self._waiting: list[Prepared] = []

    def update(self, ids: Sequence[str], known: Known) -> None:
        """Index those of ``ids`` that exist and take out what does not any more."""
        objects = self.source.get_objects(ids)
        for entity_id, obj in objects.items():
            try:
                documents = list(self.source.documents(obj))
            except AnswersError:
                raise
            except Exception as error:
                logger.exception("%r could not read object %s.", self.source, entity_id)
                self._count(failed=1)
                if self.on_failure is not None:
                    self.on_failure(entity_id, error)
                continue
            languages = known.get(entity_id, {})
            for document in documents:
                self._add(document, languages.get(document.language))
            gone = languages.keys() - {document.language for document in documents}
            self._remove([(ObjectKey(self.source.name, entity_id), code) for code in sorted(gone)])
        self.remove(set(ids) - objects.keys(), known)

    def _add(self, document: Document, known: Stored | None) -> None:
        stored = stored_as(document, self.settings, self.source)
        same_text = known and (known.checksum, known.fingerprint) == (
            stored.checksum,
            stored.fingerprint,
        )
        same_vectors = known and (known.embedding == stored.embedding or not self.vectors)
        if same_text and same_vectors and not self.rebuild:
            self._count(unchanged=1)
            return
        item = prepare(document, stored, self.settings, self.source.get_anchors)
        self._count(added=not known, changed=bool(known), chunks=len(item.chunks))
        if not self.dry_run:
            self._waiting.append(item)
            if sum(len(waiting.chunks) for waiting in self._waiting) >= CHUNKS:
                self.flush()

    def flush(self) -> None:
        """Embed and write what has gathered."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            self.index.put(entries(waiting, self.settings, vectors=self.vectors))

    def remove(self, ids: set[str], known: Known) -> None:
        """Take out what is known of ``ids``, in all languages."""
        self._remove(
            [
                (ObjectKey(self.source.name, entity_id), language)
                for entity_id in sorted(ids)
                for language in known.get(entity_id, ())
            ]
        )

    def end(self, seconds: float) -> Report:
        self._count(seconds=seconds)
        if not self.dry_run:
            content_indexed.send_robust(
                sender=type(self.source), index=self.alias, report=self.report
            )
        return self.report

    def _remove(self, places: list[tuple[ObjectKey, str]]) -> None:
        if places:
            self._count(removed=len(places))
            if not self.dry_run:
                self.index.remove_documents(places)

    def _count(self, **numbers: float) -> None:
        self.report += Report(**numbers)
