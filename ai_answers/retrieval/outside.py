"""Legs that another server keeps, and how they stay in step with the rows of the database.

In: documents before the database has them, chunks as they leave it. Out: what a leg is to send
and to withdraw, and when. Each version of a document has a name of its own, so old and new stand
side by side over there, and a search takes what the rows ask for. A version is sent before the
transaction that makes its rows and withdrawn after the commit that takes them out. Both are noted
first (``IndexLeftover``): what a crash or a server that is down leaves undone, ``tidy`` does
later. What matches no row is never a hit. To be tested through ``DatabaseIndex``.
"""

from __future__ import annotations

import hashlib
import logging
import uuid
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple, TypeVar

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone

from ..models import IndexedChunk, IndexedDocument, IndexLeftover, IndexState
from .base import Entry

logger = logging.getLogger(__name__)
T = TypeVar("T")

BATCH = 500
"""Values in one ``IN``: every database takes that many."""
TRIES = 3
"""Times a server is asked again because the index changed under it."""
GRACE = timedelta(minutes=15)
"""How long somebody else may be about to write what he has noted."""


class Version(NamedTuple):
    """A document as it was read once: it never means anything else."""

    entity_type: str
    entity_id: str
    language: str
    checksum: str
    fingerprint: str


class Place(NamedTuple):
    """A chunk of a version."""

    entity_type: str
    entity_id: str
    language: str
    checksum: str
    fingerprint: str
    position: int

    @property
    def version(self) -> Version:
        return Version(*self[:5])


class Outside(ABC):
    """What a leg does besides where its part of an index ``using`` is on another server."""

    using: str
    kind: str
    """What all names of its parts start with."""

    @abstractmethod
    def part_of(self, entry: Entry) -> str:
        """Return the name of the part that ``entry`` belongs to; empty: it is not kept there."""

    @abstractmethod
    def send(self, index: str, entries: Sequence[Entry]) -> None:
        """Write chunks under their names, and be done when a search would find them.

        Never called in a transaction of ours. Raises ``RetrievalError``.
        """

    @abstractmethod
    def withdraw(self, index: str, part: str, places: Sequence[Place]) -> None:
        """Take chunks out; those that are not there are no error. May raise anything."""

    def here(self, index: str, part: str, versions: Iterable[Version]) -> set[Version]:
        """Return those versions that rows of the database ask for."""
        ids = list({version.entity_id for version in versions})
        found: set[Version] = set()
        for start in range(0, len(ids), BATCH):
            rows = IndexedDocument.objects.using(self.using).filter(
                index=index, entity_id__in=ids[start : start + BATCH]
            )
            found |= {Version(*row) for row in rows.values_list(*Version._fields)}
        return found


def name_of(index: str, part: str, place: Place) -> str:
    """Return the id of a chunk on the other server: letters and digits, the same for ever."""
    said = "\0".join(map(str, (index, part, *place)))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def places_of(entry: Entry) -> list[Place]:
    key, stored = entry.document.key, entry.stored
    version = Version(*key, entry.document.language, stored.checksum, stored.fingerprint)
    return [Place(*version, chunk.position) for chunk in entry.chunks]


def place_in(given: Mapping[str, Any]) -> Place | None:
    """Read a place that was sent along; ``None`` for what is none of ours."""
    try:
        texts = [str(given[name]) for name in Version._fields]
        return Place(*texts, int(given["position"]))
    except (KeyError, TypeError, ValueError):
        return None


def part_of_vectors(embedding: str) -> str:
    return f"vectors {embedding}"


def rows_of(using: str, index: str, places: Iterable[Place | None]) -> dict[Place, int]:
    """Return the ids of the chunks that are here just so, in the order of ``places``."""
    wanted = list(dict.fromkeys(place for place in places if place is not None))
    found: dict[Place, int] = {}
    for start in range(0, len(wanted), BATCH):
        some = wanted[start : start + BATCH]
        rows = IndexedChunk.objects.using(using).filter(
            document__index=index,
            document__entity_id__in={place.entity_id for place in some},
            position__in={place.position for place in some},
        )
        fields = [f"document__{name}" for name in Version._fields]
        for pk, *place in rows.values_list("pk", *fields, "position"):
            found[Place(*place)] = pk
    return {place: found[place] for place in wanted if place in found}


def named_rows(
    using: str, index: str, ask: Callable[[], Sequence[T]], *, place_of: Callable[[T], Place | None]
) -> tuple[Sequence[T], dict[Place, int]]:
    """Return what another server answers, and the rows it names (``rows_of``).

    ``ask`` is called again where a name has no row and the index has changed meanwhile: what came
    in its place is over there before it is here.
    """
    states = IndexState.objects.using(using).filter(index=index)
    for _ in range(TRIES):
        before = states.values_list("version", flat=True).first()
        answer = ask()
        named = list(map(place_of, answer))
        rows = rows_of(using, index, named)
        if len(rows) == len({*named} - {None}):
            break
        if states.values_list("version", flat=True).first() == before:
            break
    return answer, rows


@contextmanager
def sent_before(index: str, legs: Sequence[Outside], entries: Sequence[Entry]) -> Iterator[None]:
    """Send ``entries`` to each leg; inside, their rows are written."""
    noted = []
    for leg in legs:
        mine = [entry for entry in entries if entry.chunks and leg.part_of(entry)]
        if mine:
            versions = ((leg.part_of(e), places_of(e)[0].version, len(e.chunks)) for e in mine)
            noted.append((leg, _note(leg, index, versions)))
            leg.send(index, mine)
    yield
    for leg, batch in noted:
        _settle_on_commit(leg, batch)


def leaving(leg: Outside, index: str, chunks: QuerySet, *, part: str | None = None) -> None:
    """Note versions whose chunks the running transaction takes out; withdraw them on commit.

    ``chunks``: of ``IndexedChunk``, or with ``part=None`` of ``IndexedVector``, whose part is that
    of their embedding.
    """
    to_chunk = "" if part else "chunk__"
    fields = [f"{to_chunk}document__{name}" for name in Version._fields]
    fields += [] if part else ["embedding"]
    rows = chunks.order_by().values_list(*fields).annotate(last=Max(f"{to_chunk}position"))
    versions = [
        (part or part_of_vectors(row[5]), Version(*row[:5]), row[-1] + 1) for row in rows.iterator()
    ]
    if versions:
        _settle_on_commit(leg, _note(leg, index, versions))


def tidy(index: str, legs: Sequence[Outside]) -> None:
    """Withdraw what was left over there longer than ``GRACE`` ago."""
    for leg in legs:
        notes = IndexLeftover.objects.using(leg.using)
        notes = notes.filter(index=index, part__startswith=leg.kind)
        since = timezone.now() - GRACE
        old = notes.filter(noted_at__lt=since).order_by().values_list("batch", flat=True)
        for batch in list(old.distinct()):
            # Somebody may be about to write the same version again; his own note sees to it.
            busy = notes.filter(noted_at__gte=since).values_list("part", *Version._fields)
            _settle(leg, batch, busy={(part, Version(*v)) for part, *v in busy})


def _note(leg: Outside, index: str, versions: Iterable[tuple[str, Version, int]]) -> str:
    batch = uuid.uuid4().hex
    IndexLeftover.objects.using(leg.using).bulk_create(
        (
            IndexLeftover(batch=batch, index=index, part=part, chunks=chunks, **version._asdict())
            for part, version, chunks in versions
        ),
        batch_size=BATCH,
    )
    return batch


def _settle_on_commit(leg: Outside, batch: str) -> None:
    transaction.on_commit(partial(_settle, leg, batch), using=leg.using, robust=True)


def _settle(leg: Outside, batch: str, busy: set[tuple[str, Version]] = frozenset()) -> None:
    """Withdraw what the notes name and no row asks for, and drop the notes."""
    notes = IndexLeftover.objects.using(leg.using).filter(batch=batch)
    parts: dict[tuple[str, str], dict[Version, int]] = defaultdict(dict)
    for note in notes:
        version = Version(*(getattr(note, name) for name in Version._fields))
        chunks = parts[note.index, note.part]
        chunks[version] = max(note.chunks, chunks.get(version, 0))
    for (index, part), chunks in parts.items():
        kept = leg.here(index, part, chunks)
        gone = [
            Place(*version, position)
            for version, count in chunks.items()
            if version not in kept and (part, version) not in busy
            for position in range(count)
        ]
        try:
            if gone:
                leg.withdraw(index, part, gone)
        except Exception:
            logger.warning("%d chunks of index %r stay on another server.", len(gone), index)
            logger.debug("Withdrawing them failed.", exc_info=True)
            continue
        notes.filter(index=index, part=part).delete()
