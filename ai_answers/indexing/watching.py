"""Watching folders: which files of directory sources are new, changed or gone.

In: sources. Out: at each look the ids to index, once they have stayed the same for one look, so
that an editor that writes twice is read once. Files' times and sizes are compared; nothing is
installed for it. Test it with a folder.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..exceptions import ConfigurationError
from ..sources import DirectorySource

State = dict[str, tuple[int, int]]
"""Time of change and size, by id."""


class Watch:
    def __init__(self, sources: Sequence[DirectorySource]) -> None:
        self.sources = list(sources)
        self._known = {source.name: source.get_states() for source in self.sources}
        self._last = dict(self._known)

    def changed(self) -> dict[str, list[str]]:
        """Return the ids that changed and have settled, by source."""
        found: dict[str, list[str]] = {}
        for source in self.sources:
            try:
                now, last = source.get_states(), self._last[source.name]
            except ConfigurationError:  # the folder is away while something replaces it
                continue
            known = self._known[source.name]
            settled = [
                path
                for path in sorted(now.keys() | known.keys())
                if now.get(path) != known.get(path) and now.get(path) == last.get(path)
            ]
            for path in settled:
                if path in now:
                    known[path] = now[path]
                else:
                    del known[path]
            self._last[source.name] = now
            if settled:
                found[source.name] = settled
        return found
