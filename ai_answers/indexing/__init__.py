"""From sources to an index: documents, chunks, vectors, and staying in step."""

from .report import Report
from .running import (
    index_objects,
    index_source,
    indexes_of,
    is_in_index,
    is_stale,
    remove_objects,
)
from .whole import index_all

__all__ = [
    "Report",
    "index_all",
    "index_objects",
    "index_source",
    "indexes_of",
    "is_in_index",
    "is_stale",
    "remove_objects",
]
