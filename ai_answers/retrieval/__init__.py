"""Finding chunks: index backends, embeddings, fusion, rerankers, and ``search`` over them all."""

from .aliases import IndexSettings, get_index, index_settings
from .base import Entry, Index, Stats, Stored
from .embeddings import get_embedding
from .searching import Candidate, Explanation, explain, score_kind_of, search

__all__ = [
    "Candidate",
    "Entry",
    "Explanation",
    "Index",
    "IndexSettings",
    "Stats",
    "Stored",
    "explain",
    "get_embedding",
    "get_index",
    "index_settings",
    "score_kind_of",
    "search",
]
