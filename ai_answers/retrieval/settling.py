"""Keeping other servers in step with the rows: what is sent to them and withdrawn, and when.

In: documents before the database has them, chunks as they leave it. A version is sent before the
transaction that makes its rows and withdrawn after the commit that takes them out. Both are noted
first (``IndexLeftover``): what a crash or a server that is down leaves undone, ``tidy`` does
later. To be tested through ``DatabaseIndex``.

Two processes may do this to the same version at once: one takes a page out, the other puts it
back. So who has withdrawn looks at the rows again, and keeps his note while another's is fresh; who
finds another's note on what he has written sends it once more.
"""

from __future__ import annotations

import logging
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone

from ..exceptions import RetrievalError
from ..models import IndexedDocument, IndexLeftover
from .base import Entry
from .outside import BATCH, TRIES, Outside, Place, Version, part_of_vectors, version_of
from .resending import entries_of

logger = logging.getLogger(__name__)

GRACE = timedelta(minutes=15)
"""How long somebody else may be about to write what he has noted."""


@contextmanager
def sent_before(index: str, legs: Sequence[Outside], entries: Sequence[Entry]) -> Iterator[None]:
    """Send ``entries`` to each leg; inside, their rows are written."""
    noted = []
    for leg in legs:
        mine = [entry for entry in entries if entry.chunks and leg.part_of(entry)]
        if mine:
            versions = ((leg.part_of(e), version_of(e), len(e.chunks)) for e in mine)
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
    """Bring in step what was noted longer than ``GRACE`` ago."""
    for leg in legs:
        notes = IndexLeftover.objects.using(leg.using)
        notes = notes.filter(index=index, part__startswith=leg.kind)
        old = notes.filter(noted_at__lt=timezone.now() - GRACE).order_by()
        for batch in list(old.values_list("batch", flat=True).distinct()):
            _settle(leg, batch, is_sent=False)


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


def _settle(leg: Outside, batch: str, *, is_sent: bool = True) -> None:
    """Bring the server in step with the rows for all that the notes name, and drop the notes.

    ``is_sent``: what has rows was sent before.
    """
    notes = IndexLeftover.objects.using(leg.using).filter(batch=batch)
    parts: dict[tuple[str, str], dict[Version, int]] = defaultdict(dict)
    for note in notes:
        chunks = parts[note.index, note.part]
        version = _version(note)
        chunks[version] = max(note.chunks, chunks.get(version, 0))
    for (index, part), chunks in parts.items():
        others = IndexLeftover.objects.using(leg.using).filter(index=index, part=part)
        others = others.exclude(batch=batch)
        unsure = _noted(others, chunks) if is_sent else set(chunks)
        try:
            here = _bring_in_step(leg, index, part, chunks, sure=chunks.keys() - unsure)
        except Exception:
            logger.warning(
                "%d documents of index %r are not in step on another server.", len(chunks), index
            )
            logger.debug("Bringing them in step failed.", exc_info=True)
            continue
        since = timezone.now() - GRACE
        contested = _noted(others.filter(noted_at__gte=since), chunks.keys() - here)
        done = notes.filter(index=index, part=part)
        for version in contested:
            done = done.exclude(**version._asdict())
        done.delete()


def _bring_in_step(
    leg: Outside, index: str, part: str, chunks: Mapping[Version, int], *, sure: set[Version]
) -> set[Version]:
    """Withdraw what no row asks for and send what is not ``sure`` to be there; return what is."""
    there = set(chunks)
    for _ in range(TRIES):
        here = leg.here(index, part, chunks)
        if here == there == sure:
            return here
        gone = there - here
        if gone:
            places = [Place(*v, position) for v in sorted(gone) for position in range(chunks[v])]
            leg.withdraw(index, part, places)
        if here - sure:
            _send_again(leg, index, part, here - sure)
        there = sure = here
    raise RetrievalError("Others keep writing the same documents.")


def _send_again(leg: Outside, index: str, part: str, versions: set[Version]) -> None:
    ids = sorted({version.entity_id for version in versions})
    for start in range(0, len(ids), BATCH):
        documents = IndexedDocument.objects.using(leg.using).filter(
            index=index, entity_id__in=ids[start : start + BATCH]
        )
        for entries in entries_of(leg.using, documents):
            mine = [e for e in entries if leg.part_of(e) == part and version_of(e) in versions]
            if mine:
                leg.send(index, mine)


def _noted(notes: QuerySet, versions: Iterable[Version]) -> set[Version]:
    """Return those of ``versions`` that ``notes`` name."""
    ids = list({version.entity_id for version in versions})
    found: set[Version] = set()
    for start in range(0, len(ids), BATCH):
        rows = notes.filter(entity_id__in=ids[start : start + BATCH])
        found |= {Version(*row) for row in rows.values_list(*Version._fields)}
    return found.intersection(versions)


def _version(note: IndexLeftover) -> Version:
    return Version(*(getattr(note, name) for name in Version._fields))
