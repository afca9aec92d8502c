"""A reranker that needs no weights of its own: the query against each sentence of a chunk.

A chunk is as good as its best sentence, and as the whole: the mean of both cosines. It stands in
for a cross-encoder, none of which comes with its weights in a package.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from langchain_core.documents import BaseDocumentCompressor, Document

from tests.benchmarks.caching import CachedEmbedding

SENTENCE = re.compile(r"(?<=[.!?。！？])\s*|\n\n+")
MOST = 12


class SentenceReranker(BaseDocumentCompressor):
    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: object = None
    ) -> Sequence[Document]:
        embedding = _embedding()
        asked = np.array(embedding.embed_query(query))
        scored = []
        for document in documents:
            whole = document.page_content
            pieces = [s.strip() for s in SENTENCE.split(whole) if len(s.strip()) > 15][:MOST]
            cosines = np.array(embedding.embed_documents([whole, *pieces])) @ asked
            score = float((cosines[0] + cosines.max()) / 2)
            metadata = {**document.metadata, "relevance_score": score}
            scored.append(document.model_copy(update={"metadata": metadata}))
        return sorted(scored, key=lambda d: -d.metadata["relevance_score"])


_made: list[CachedEmbedding] = []


def _embedding() -> CachedEmbedding:
    if not _made:
        _made.append(CachedEmbedding())
    return _made[0]
