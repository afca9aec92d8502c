"""One pass over objects of a source, in small batches, into one index.

In: ids. Out: a ``Report``. What is unchanged costs its text, what changed is cut, embedded and
written in short transactions. Others may write meanwhile: an object is looked at again when the
index holds another version of it than when it was read, and after it was added or taken out. So
the last to write has seen the object as it is, and none of them puts back what is outdated.
Holds back the documents of a batch, some ``CHUNKS`` chunks.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db import DataError, OperationalError

from ..exceptions import AnswersError, EmbeddingFailed
from ..retrieval import Index, IndexSettings, Stored, get_index, index_settings
from ..retrieval.failures import is_about_input
from ..signals import content_indexed
from ..sources import Source
from ..sources.base import storable
from ..sources.loading import loaded
from ..values import Document, ObjectKey
from .preparing import (
    Prepared,
    entries,
    has_text,
    prepare,
    require_id,
    require_storable,
    stored_as,
)
from .report import Report

logger = logging.getLogger(__name__)

OBJECTS = 100
"""Objects loaded with one query."""
CHUNKS = 128
"""Chunks after which a batch is embedded and written."""
PAUSE_SECONDS = 0.1
"""Between two calls of a progress callback, at least."""
LOOKS = 3
"""Times an object is looked at again because others write it just now."""
WAITS = (1.0, 2.0, 4.0, 8.0)
"""Seconds before a write that others keep from the database is tried again."""
REFUSALS = 20
"""Objects in a row that may be refused; after one more it is about none of them."""
LOCKED = ("is locked", "deadlock", "lock wait timeout")
"""What SQLite, PostgreSQL and MySQL say then, after their own time-outs."""

Progress = Callable[[int, int], None]
"""Called with objects done and objects in all."""
OnFailure = Callable[[str, Exception], None]
"""Called with the entity id of an object that could not be read or stored, and why."""


class Pass:
    """``rebuild``: write what is unchanged too. ``dry_run``: only count. Without ``vectors`` no
    embedding is called. ``patient``: wait for a database that others have locked."""

    def __init__(
        self,
        source: Source,
        alias: str,
        *,
        rebuild: bool = False,
        dry_run: bool = False,
        vectors: bool = True,
        patient: bool = False,
        progress: Progress | None = None,
        on_failure: OnFailure | None = None,
    ) -> None:
        self.source = source
        self.alias = alias
        self.index: Index = get_index(alias)
        self.settings: IndexSettings = index_settings(alias)
        self.rebuild = rebuild
        self.dry_run = dry_run
        self.vectors = vectors
        self.patient = patient
        self.progress = progress
        self.on_failure = on_failure
        self.report = Report()
        self._waiting: list[Prepared] = []
        self._failed: set[str] = set()
        self._refused = 0
        self._again: dict[str, int] = {}
        self._told_at = 0.0

    def update(self, ids: Sequence[str]) -> None:
        """Index those of ``ids`` that exist and take out what does not any more."""
        ids = list(filter(self._is_storable, ids))
        for start in range(0, len(ids), OBJECTS):
            for read in self._update(ids[start : start + OBJECTS]):
                # What waits to be written is not done yet: with a slow embedding that is minutes.
                if not self._waiting and time.monotonic() > self._told_at + PAUSE_SECONDS:
                    self._tell(start + read, len(ids))
        self._flush()
        if ids:
            self._tell(len(ids), len(ids))

    def take_out(self, ids: Sequence[str]) -> None:
        """Take out objects that are not in the source, in all languages."""
        for start in range(0, len(ids), OBJECTS):
            some = ids[start : start + OBJECTS]
            known = self._stored(some)
            self._remove([(entity_id, code) for entity_id in some for code in known[entity_id]])
        self._flush()

    def end(self, seconds: float) -> Report:
        self._count(seconds=seconds)
        if not self.dry_run:
            content_indexed.send_robust(
                sender=type(self.source), index=self.alias, report=self.report
            )
        return self.report

    def _update(self, ids: Sequence[str]) -> Iterable[int]:
        """Read a batch of objects; yields how many were read so far."""
        known = self._stored(ids)  # before the objects: what is written after that is seen
        objects = self._load(ids)
        for number, (entity_id, obj) in enumerate(objects.items(), start=1):
            self._read(entity_id, obj, known.setdefault(entity_id, {}))
            yield number
        gone = [i for i in ids if i not in objects and i not in self._failed]
        self._remove([(entity_id, code) for entity_id in gone for code in known[entity_id]])
        yield len(ids)

    def _load(self, ids: Sequence[str]) -> dict[str, Any]:
        """Return the objects that exist now; one that cannot be loaded is not taken for gone."""
        objects, failures = loaded(self.source, ids)
        for entity_id, error in failures.items():
            self._fail(entity_id, error)
        return objects

    def _read(self, entity_id: str, obj: Any, known: dict[str, Stored]) -> None:
        try:
            documents = list(self.source.documents(obj))
            items = [self._prepared(each, known.get(each.language)) for each in documents]
        except AnswersError:
            raise
        except Exception as error:
            self._fail(entity_id, error)
            return
        for item in filter(None, items):
            self._add(item)
        gone = known.keys() - {document.language for document in documents}
        self._remove([(entity_id, language) for language in sorted(gone)])

    def _prepared(self, document: Document, known: Stored | None) -> Prepared | None:
        """Return the document ready to be written; ``None`` when it is unchanged."""
        require_storable(document)
        stored = stored_as(document, self.settings, self.source)
        is_complete = known and (known.embedding == stored.embedding or not self.vectors)
        if has_text(known, stored) and is_complete and not self.rebuild:
            self._count(unchanged=1)
            return None
        return prepare(document, stored, known, self.settings, self.source.get_anchors)

    def _add(self, item: Prepared) -> None:
        if self.dry_run:
            self._count_written(item)
            return
        self._waiting.append(item)
        if sum(len(waiting.chunks) for waiting in self._waiting) >= CHUNKS:
            self._flush()

    def _is_storable(self, entity_id: str) -> bool:
        try:
            require_id(entity_id)
        except ValueError as error:
            self._fail(entity_id, error)
            return False
        return True

    def _fail(self, entity_id: str, error: Exception) -> None:
        """Count an object as failed, once; what is indexed of it stays."""
        if entity_id in self._failed:
            return
        self._failed.add(entity_id)
        self._count(failed=1)
        said = "%r could not read object %r; it is out of step."
        logger.error(said, self.source, entity_id, exc_info=error)
        if self.on_failure is not None:
            self.on_failure(storable(entity_id), error)

    def _flush(self) -> None:
        """Embed and write what has gathered."""
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            self._look_again(self._disturbed(self._put(waiting)))

    def _put(self, waiting: list[Prepared]) -> list[Prepared]:
        """Write together, or where that is refused one by one; return what was written."""
        try:
            self._write(self.index.put, entries(waiting, self.settings, vectors=self.vectors))
        except Exception as error:
            if not _is_about_content(error):
                raise
            if len(waiting) > 1:
                return [written for item in waiting for written in self._put([item])]
            self._refused += 1
            if self._refused > REFUSALS:
                raise
            self._fail(waiting[0].document.key.entity_id, error)
            return []
        self._refused = 0
        return waiting

    def _disturbed(self, written: Sequence[Prepared]) -> set[str]:
        """Count what was written; return the objects that have to be looked at again."""
        ids = list(dict.fromkeys(item.document.key.entity_id for item in written))
        known = self._stored(ids)
        again = set()
        for item in written:
            entity_id = item.document.key.entity_id
            if has_text(known[entity_id].get(item.document.language), item.stored):
                self._count_written(item)
            else:  # another process has written it
                again.add(entity_id)
        # A deletion found nothing to take out when it came before what was added here.
        added = {item.document.key.entity_id for item in written if item.replaces is None} - again
        return again | (added - self._load(sorted(added)).keys() - self._failed)

    def _remove(self, places: list[tuple[str, str]]) -> None:
        if not places:
            return
        self._count(removed=len(places))
        if self.dry_run:
            return
        keys = [(ObjectKey(self.source.name, entity_id), code) for entity_id, code in places]
        self._write(self.index.remove_documents, keys)
        # One that is back was perhaps indexed again before it was taken out here.
        there = list(self._load(sorted({entity_id for entity_id, _ in places})))
        known = self._stored(there)
        self._look_again({entity_id for entity_id in there if not known[entity_id]})

    def _look_again(self, ids: set[str]) -> None:
        """Update objects that others write just now, each ``LOOKS`` times at most."""
        some = [i for i in sorted(ids) if self._again.get(i, 0) < LOOKS]
        self._again.update((i, self._again.get(i, 0) + 1) for i in some)
        if some:
            for _ in self._update(some):
                pass

    def _stored(self, ids: Sequence[str]) -> dict[str, dict[str, Stored]]:
        """Return what the index holds of ``ids``: by entity id, then by language."""
        known: dict[str, dict[str, Stored]] = {entity_id: {} for entity_id in ids}
        if ids:
            for (entity_id, language), value in self.index.stored(self.source.name, ids).items():
                known.setdefault(entity_id, {})[language] = value
        return known

    def _write(self, write: Callable[[Any], Any], what: Any) -> None:
        for seconds in WAITS if self.patient else ():
            try:
                write(what)
                return
            except OperationalError as error:
                if not any(said in str(error).lower() for said in LOCKED):
                    raise
                logger.warning("Index %r waits %g s: %s", self.alias, seconds, error)
                time.sleep(seconds)
        write(what)

    def _tell(self, done: int, total: int) -> None:
        self._told_at = time.monotonic()
        if self.progress is not None:
            self.progress(done, total)

    def _count_written(self, item: Prepared) -> None:
        is_new = item.replaces is None
        self._count(added=is_new, changed=not is_new, chunks=len(item.chunks))

    def _count(self, **numbers: float) -> None:
        self.report += Report(**numbers)


def _is_about_content(error: Exception) -> bool:
    """Whether a database or an embedding refused what it was given, and may take something else."""
    if isinstance(error, OperationalError):  # PostgreSQL: more than an index takes
        return str(getattr(error.__cause__, "sqlstate", "")).startswith("54")
    if isinstance(error, EmbeddingFailed):
        return error.__cause__ is not None and is_about_input(error.__cause__)
    return isinstance(error, DataError | ValueError | OverflowError)
