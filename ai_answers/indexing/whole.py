"""Bringing an index in step as a whole: all its sources, and what has none any more.

In: the alias of an index. Out: one ``Report`` of everything. Only a run over all sources that came
to its end, and could read every object, may tell the index so (``finish``): what it kept for the
time of a rebuild then goes.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ..retrieval import get_index
from ..sources import registered
from .report import Report
from .running import index_source, is_in_index

WholeProgress = Callable[[str, int, int], None]
"""Called with the name of a source, objects done and objects in all; first with 0 and 0."""
WholeFailure = Callable[[str, str, Exception], None]
"""Called with the name of a source, the id of an object whose texts could not be read, and why."""
SourceEnded = Callable[[str, Report], None]
"""Called with the name of a source and what was done; also for one that is no more."""


def index_all(
    alias: str = "default",
    *,
    rebuild: bool = False,
    dry_run: bool = False,
    progress: WholeProgress | None = None,
    on_failure: WholeFailure | None = None,
    on_source: SourceEnded | None = None,
) -> Report:
    """Bring all of index ``alias`` in step with its sources.

    ``rebuild``: write everything anew; searches go on. ``dry_run``: only count. What a callback
    raises ends the run; what was written stays. Raises ``EmbeddingFailed``,
    ``ConfigurationError``.
    """
    started, total, index = time.monotonic(), Report(), get_index(alias)
    mine = [source for source in registered() if is_in_index(source, alias)]
    for source in mine:
        if progress is not None:
            progress(source.name, 0, 0)
        report = index_source(
            source,
            index=alias,
            rebuild=rebuild,
            dry_run=dry_run,
            progress=_for_source(source.name, progress),
            on_failure=_for_source(source.name, on_failure),
        )
        total += report
        if on_source is not None:
            on_source(source.name, report)
    for name in sorted(index.entity_types() - {source.name for source in mine}):
        report = Report(removed=len(index.stored(name)))
        if not dry_run:
            index.clear(name)
        total += report
        if on_source is not None:
            on_source(name, report)
    if not dry_run and not total.failed:
        index.finish()
    return total + Report(seconds=time.monotonic() - started - total.seconds)


def _for_source(name: str, callback: Callable | None) -> Callable | None:
    if callback is None:
        return None
    return lambda *arguments: callback(name, *arguments)
