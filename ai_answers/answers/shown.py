"""The references of a turn as its readers have them.

In: sources by number as they are found, taken back or quoted from. Out: the references, those that
are cited first and numbered as the reader sees them (S60, S64–S66). Rendering asks the database and
the site's templates, on threads; what is kept changes in one step, between two frames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..bursts import search_burst
from ..models import Agent
from ..rendering.references import render_references, unavailable
from ..values import Asker, Reference, Source


class ShownReferences:
    """References by the number the model cites them with."""

    def __init__(self) -> None:
        self._by_number: dict[int, Reference] = {}

    def lacking(self, sources: Sequence[Source]) -> list[Source]:
        """Return those of ``sources`` that no reader has yet."""
        return [source for source in sources if source.number not in self._by_number]

    def keep(self, sources: Sequence[Source], rendered: Mapping[str, Reference]) -> None:
        """Keep what was ``rendered`` of new ``sources``, by key."""
        for source in sources:
            if str(source.key) in rendered:
                self._by_number[source.number] = rendered[str(source.key)]

    def withdraw(self, sources: Sequence[Source], *, asker: Asker) -> None:
        """Leave nothing but their numbers of sources that the asker may no longer see."""
        for source in sources:
            self._by_number[source.number] = unavailable(source, asker=asker)

    def quote(self, quoted: Mapping[str, Reference]) -> None:
        """Put references with their quotes, by key, in the place of those without."""
        for number, reference in self._by_number.items():
            self._by_number[number] = quoted.get(reference.key, reference)

    def cited(self, numbers: Sequence[int]) -> list[Reference]:
        """Return the references to ``numbers``, which stand in the reader's order."""
        return [
            replace(self._by_number[number], index=index)
            for index, number in enumerate(numbers, start=1)
            if number in self._by_number
        ]

    def as_dicts(self, cited: Sequence[int] = ()) -> list[dict[str, Any]]:
        """Return all of them, the ``cited`` ones first."""
        first = self.cited(cited)
        keys = {reference.key for reference in first}
        others = [r for r in self._by_number.values() if r.key not in keys]
        return [reference.as_dict() for reference in (*first, *others)]


async def render_shown(
    sources: Sequence[Source], *, agent: Agent, asker: Asker
) -> dict[str, Reference]:
    """Render ``sources`` for ``asker``; by key."""
    references = await search_burst(
        render_references,
        list(sources),
        asker=asker,
        view_mode=agent.reference_view_mode,
        keep_unavailable=True,
    )
    return {reference.key: reference for reference in references}
