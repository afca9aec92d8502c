"""A small embedding that knows a few concepts, and one that fails when told to."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

CONCEPTS = [
    {"parcel", "parcels", "package", "shipment", "paket", "pakete"},
    {"leave", "leaves", "departure", "departs", "verlassen", "abfahrt"},
    {"fee", "fees", "price", "costs", "euros", "gebühr"},
    {"coffee", "lounge", "espresso", "kaffee"},
    {"alarm", "siren", "burglar"},
]


class ConceptEmbedding(Embeddings):
    """One dimension a concept and a small one for everything else. Counts its calls."""

    calls: list[int] = []
    is_down = False

    def __init__(self, model: str = "concepts", dimensions: int = len(CONCEPTS) + 1) -> None:
        self.dimensions = dimensions

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if ConceptEmbedding.is_down:
            raise ConnectionError("embedding service away")
        ConceptEmbedding.calls.append(len(texts))
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        if ConceptEmbedding.is_down:
            raise ConnectionError("embedding service away")
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        words = [word.strip(".,?!'").lower() for word in text.split()]
        counts = [float(sum(word in concept for word in words)) for concept in CONCEPTS]
        return [*counts, 0.1, *[0.0] * self.dimensions][: self.dimensions]


def settings_with_embedding(**options) -> dict:
    """AI_ANSWERS of the tests with vectors in the default index."""
    return {
        "USER_ACCESS_TAGS": "tests.site.ai_answers.access_tags",
        "EMBEDDINGS": {
            "concepts": {
                "BACKEND": "tests.retrieval.embedding.ConceptEmbedding",
                "OPTIONS": options,
                "TRIES": 1,
            }
        },
        "INDEXES": {
            "default": {
                "BACKEND": "ai_answers.retrieval.database.DatabaseIndex",
                "EMBEDDING": "concepts",
            }
        },
    }
