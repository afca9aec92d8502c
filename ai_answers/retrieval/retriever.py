"""An index that somebody else fills, asked through any LangChain ``BaseRetriever``.

For content that is in a search engine already. Nothing is ever written; ``ai_answers_index`` and
saved objects pass it by. What it returns has to name objects of registered sources, because only
those can be shown and their rules decide who may see them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from ..conf import make_part
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
    ``limit_option``: the field of the retriever that says how many to return; usually ``k``, or
    ``search_kwargs.k`` for a key of a field.
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
        self.setting = f"AI_ANSWERS['INDEXES'][{alias!r}]"
        if not isinstance(retriever, Mapping) or "BACKEND" not in retriever:
            raise ConfigurationError(
                f"{self.setting}: OPTIONS needs 'retriever', a dict with BACKEND and OPTIONS, "
                f"not {retriever!r}."
            )
        if not isinstance(keys, Mapping | None):
            raise ConfigurationError(
                f"{self.setting}: 'keys' must be a dict from {', '.join(KEYS)} to the names in a "
                f"document's metadata, not {keys!r}."
            )
        if unknown := sorted((keys or {}).keys() - KEYS.keys()):
            raise ConfigurationError(
                f"{self.setting}: 'keys' has no {unknown[0]!r}; known: {', '.join(KEYS)}."
            )
        self.settings = retriever
        self.keys = KEYS | dict(keys or {})
        self.limit_option = limit_option

    @cached_property
    def retriever(self) -> Any:
        """The retriever, made at the first search: every save asks whether this index is ours."""
        options = self.settings.get("OPTIONS", {})
        return make_part(self.settings["BACKEND"], setting=self.setting, options=options)

    def search(
        self, query: str, *, tags: frozenset[str], limit: int, language: str = ""
    ) -> list[Hit]:
        if not query.strip():
            return []
        try:
            documents = _limited(self.retriever, self.limit_option, limit).invoke(query)
        except ConfigurationError:
            raise
        except Exception as error:
            raise RetrievalError(f"The retriever of index {self.alias!r} failed.") from error
        given = [self._given(document) for document in documents]
        named = [place for place, one in enumerate(given) if _names_an_object(one)]
        scores = _scores([given[place]["score"] for place in named])
        hits = [
            (_hit(documents[place].page_content, given[place], place, score), given[place])
            for place, score in zip(named, scores, strict=True)
        ]
        return [hit for hit, one in hits if _is_open(one["access_tags"], tags)][:limit]

    def _given(self, document: Any) -> dict[str, Any]:
        return {name: document.metadata.get(key) for name, key in self.keys.items()}

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


def _limited(retriever: Any, option: str, limit: int) -> Any:
    """Return the retriever asking for ``limit`` documents; itself where it has no such option."""
    name, _, key = option.partition(".")
    if name not in type(retriever).model_fields:
        return retriever
    value = {**getattr(retriever, name), key: limit} if key else limit
    return retriever.model_copy(update={name: value})


def _names_an_object(given: Mapping[str, Any]) -> bool:
    return bool(given["entity_type"]) and given["entity_id"] not in (None, "")


def _scores(given: Sequence[Any]) -> list[float]:
    """Return scores that fall along the order: those given, or by the place where they do not.

    A distance, which rises, or a score that some documents lack, says nothing here.
    """
    try:
        scores = [float(score) for score in given]
    except (TypeError, ValueError):
        scores = [math.nan]
    falls = all(left >= right for left, right in pairwise(scores))
    if len(scores) == len(given) and falls and all(0 <= score < math.inf for score in scores):
        return scores
    return [1 / (1 + place) for place in range(len(given))]


def _is_open(given: Any, tags: frozenset[str]) -> bool:
    own = {given} if isinstance(given, str) else set(map(str, given or ()))
    return not own or bool(own & tags)


def _hit(text: str, given: Mapping[str, Any], place: int, score: float) -> Hit:
    position = str(given["position"])
    chunk = Chunk(
        id=None,
        key=ObjectKey(str(given["entity_type"]), str(given["entity_id"])),
        language=str(given["language"] or ""),
        position=int(position) if position.isdecimal() else place,
        text=text,
        title=str(given["title"] or ""),
        url=str(given["url"] or ""),
        heading=str(given["heading"] or ""),
        anchor=str(given["anchor"] or ""),
    )
    return Hit(chunk=chunk, score=score, score_kind="retriever", scores={"retriever": score})
