"""An index that somebody else fills, asked through any LangChain ``BaseRetriever``.

For content that is in a search engine already. Nothing is ever written; ``ai_answers_index`` and
saved objects pass it by. What it returns has to name objects of registered sources, because only
those can be shown and their rules decide who may see them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..conf import import_part
from ..exceptions import ConfigurationError, RetrievalError
from ..values import Chunk, Hit, ObjectKey
from .base import Entry, Index, Stats, Stored

KEYS = {
    name: name
    for name in ("entity_type", "entity_id", "language", "title", "url", "heading", "anchor",
                 "position", "score", "access_tags")
}  # fmt: skip


class RetrieverIndex(Index):
    """``retriever``: ``BACKEND`` (dotted path) and ``OPTIONS`` of its constructor.

    Each document it returns carries ``entity_type`` and ``entity_id`` in its metadata, and if it
    has them ``language``, ``title``, ``url``, ``heading``, ``anchor``, ``position``, ``score``
    and ``access_tags`` (a list; an asker needs one of them). ``keys``: other names for these.
    ``limit_option``: the field of the retriever that says how many to return; usually ``k``.
    """

    is_read_only = True
    score_kind = "retriever"

    def __init__(
        self,
        alias: str,
        *,
        embedding: str | None = None,
        retriever: Mapping[str, Any] | None = None,
        keys: Mapping[str, str] | None = None,
        limit_option: str = "k",
    ) -> None:
        super().__init__(alias, embedding=embedding)
        setting = f"AI_ANSWERS['INDEXES'][{alias!r}]"
        if not retriever or "BACKEND" not in retriever:
            raise ConfigurationError(
                f"{setting}: OPTIONS needs 'retriever', a dict with BACKEND and OPTIONS, "
                f"not {retriever!r}."
            )
        if unknown := sorted((keys or {}).keys() - KEYS.keys()):
            raise ConfigurationError(
                f"{setting}: 'keys' has no {unknown[0]!r}; known: {', '.join(KEYS)}."
            )
        backend = import_part(retriever["BACKEND"], setting=setting)
        self.retriever = backend(**retriever.get("OPTIONS", {}))
        self.keys = KEYS | dict(keys or {})
        self.limit_option = limit_option

    def search(
        self, query: str, *, tags: frozenset[str], limit: int, language: str = ""
    ) -> list[Hit]:
        if not query.strip():
            return []
        retriever = self.retriever
        if self.limit_option in type(retriever).model_fields:
            retriever = retriever.model_copy(update={self.limit_option: limit})
        try:
            documents = retriever.invoke(query)
        except Exception as error:
            raise RetrievalError(f"The retriever of index {self.alias!r} failed.") from error
        hits = [self._hit(document, place) for place, document in enumerate(documents)]
        return [hit for hit, own in hits if hit and (not own or own & tags)][:limit]

    def _hit(self, document: Any, place: int) -> tuple[Hit | None, frozenset[str]]:
        """Return the hit and its access tags; ``None`` for a document that names no object."""
        given = {name: document.metadata.get(key) for name, key in self.keys.items()}
        if not given["entity_type"] or given["entity_id"] in (None, ""):
            return None, frozenset()
        score = given["score"]
        chunk = Chunk(
            id=None,
            key=ObjectKey(str(given["entity_type"]), str(given["entity_id"])),
            language=str(given["language"] or ""),
            position=place if given["position"] is None else int(given["position"]),
            text=document.page_content,
            title=str(given["title"] or ""),
            url=str(given["url"] or ""),
            heading=str(given["heading"] or ""),
            anchor=str(given["anchor"] or ""),
        )
        # Without a score the place says how good it is.
        value = float(score) if score is not None else 1 / (1 + place)
        hit = Hit(chunk=chunk, score=value, score_kind="retriever", scores={"retriever": value})
        return hit, frozenset(map(str, given["access_tags"] or ()))

    def put(self, entries: Iterable[Entry]) -> None:
        self._refuse()

    def remove(self, keys: Iterable[ObjectKey]) -> int:
        self._refuse()

    def remove_documents(self, documents: Iterable[tuple[ObjectKey, str]]) -> int:
        self._refuse()

    def clear(self, entity_type: str | None = None) -> None:
        self._refuse()

    def stored(
        self, entity_type: str, ids: Iterable[str] | None = None
    ) -> dict[tuple[str, str], Stored]:
        return {}

    def outdated(self, entity_type: str, *, fingerprint: str, embedding: str) -> int:
        return 0

    def stats(self) -> Stats:
        return Stats(documents=0, chunks=0, vectors=0)

    def entity_types(self) -> set[str]:
        return set()

    def _refuse(self) -> None:
        raise ConfigurationError(
            f"The index {self.alias!r} is filled by others and only read here; change it there."
        )
