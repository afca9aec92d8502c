"""Legs that another server keeps, and how they stay in step with the rows of the database.

In: documents and chunks. Out: their names over there, and the rows that names stand for. Each
version of a document has a name of its own, so old and new stand side by side over there, and a
search takes what the rows ask for; what matches no row is never a hit. When they are sent and
withdrawn is ``settling``'s. To be tested through ``DatabaseIndex``.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ..models import IndexedChunk, IndexedDocument, IndexState
from .base import Entry

T = TypeVar("T")

BATCH = 500
"""Values in one ``IN``: every database takes that many."""
TRIES = 3
"""Times a server is asked again because the index changed under it."""


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


def version_of(entry: Entry) -> Version:
    key, stored = entry.document.key, entry.stored
    return Version(*key, entry.document.language, stored.checksum, stored.fingerprint)


def places_of(entry: Entry) -> list[Place]:
    version = version_of(entry)
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
