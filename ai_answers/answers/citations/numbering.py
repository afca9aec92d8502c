"""Give citations the numbers that readers see: 1, 2, 3 … in order of first citation (S65).

In: the events of ``resolver``; ``SourceCited`` carries the model's number. Out: ``TextDelta``
with ``[index]`` in its place, and one ``CitationFound`` before the first of each. Nothing is
renumbered later. Holds back nothing. No Django and no I/O.
"""

from __future__ import annotations

from ...events import CitationFound, SourceCited, TextDelta


class CitationNumbering:
    """Numbers the sources of one answer."""

    def __init__(self) -> None:
        self._indexes: dict[int, int] = {}

    @property
    def order(self) -> tuple[int, ...]:
        """The model's numbers in order of first citation."""
        return tuple(self._indexes)

    def feed(self, event: TextDelta | SourceCited) -> list[TextDelta | CitationFound]:
        """Take one event of the resolver; return what takes its place."""
        if not isinstance(event, SourceCited):
            return [event]
        events: list[TextDelta | CitationFound] = []
        index = self._indexes.get(event.number)
        if index is None:
            index = self._indexes[event.number] = len(self._indexes) + 1
            events.append(CitationFound(index=index, number=event.number))
        events.append(TextDelta(f"[{index}]"))
        return events
