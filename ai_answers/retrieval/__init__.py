"""Finding chunks: index backends, embeddings, fusion, rerankers, and ``search`` over them all."""

from .aliases import IndexSettings, get_index, index_settings
from .base import Entry, Index, Stats, Stored
from .embeddings import get_embedding
from .searching import search

__all__ = [
    "Entry",
    "Index",
    "IndexSettings",
    "Stats",
    "Stored",
    "get_embedding",
    "get_index",
    "index_settings",
    "search",
]
