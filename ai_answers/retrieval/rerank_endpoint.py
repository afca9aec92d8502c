"""A reranker behind HTTP: the ``/rerank`` that Cohere, Jina, vLLM, llama.cpp and TEI speak.

In: chunks and a query. Out: the same, best first, with ``relevance_score``. They agree on the
question (``query``, ``documents``) but for TEI, which calls them ``texts``; and they answer
``{"results": [{"index", "relevance_score"}]}``, or TEI a plain list of ``{"index", "score"}``.
The standard library asks, once a search: that needs no further package, and a new connection
costs little beside the model's work. Test it with a server that answers well and badly.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import Field, SecretStr, field_validator

MOST_BYTES = 5_000_000
"""Of an answer."""


class _StayHere(HTTPRedirectHandler):
    """Follow no redirect: it would take the key, and perhaps the texts, to another host."""

    def redirect_request(self, *arguments: Any, **named: Any) -> None:
        return None


_open = build_opener(_StayHere).open


class RerankEndpoint(BaseDocumentCompressor):
    """Asks ``url`` for the relevance of each document.

    ``top_n``: how many to keep; ``None``: all. ``texts_key``: what the service calls the
    documents, ``texts`` for TEI. ``extra_body``: what else it wants to be told. An answer that
    leaves texts out, or names one twice, is an error. Raises what went wrong; ``rerankers.rerank``
    keeps the order then.
    """

    url: str
    model: str = ""
    api_key: SecretStr = SecretStr("")
    top_n: int | None = Field(default=None, ge=1)
    timeout_seconds: float = Field(default=5.0, gt=0)
    texts_key: str = "documents"
    extra_body: dict[str, Any] = Field(default_factory=dict)

    @field_validator("url")
    @classmethod
    def _is_http(cls, url: str) -> str:
        if urlsplit(url).scheme not in ("http", "https"):
            raise ValueError(f"url must be the http(s) address of a rerank endpoint, not {url!r}.")
        return url

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        texts = [document.page_content for document in documents]
        body = {**self.extra_body, "query": query, self.texts_key: texts}
        if self.model:
            body["model"] = self.model
        if self.top_n is not None:
            body["top_n"] = self.top_n
        ranked = _read(self._post(body), len(documents))
        wanted = min(self.top_n or len(documents), len(documents))
        if len(ranked) < wanted:
            raise ValueError(f"The reranker ranked {len(ranked)} texts instead of {wanted}.")
        ranked.sort(key=lambda pair: -pair[1])
        return [
            documents[index].model_copy(
                update={"metadata": {**documents[index].metadata, "relevance_score": score}}
            )
            for index, score in ranked[: self.top_n]
        ]

    def _post(self, body: Mapping[str, Any]) -> Any:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key := self.api_key.get_secret_value():
            headers["Authorization"] = f"Bearer {key}"
        request = Request(self.url, json.dumps(body).encode(), headers)  # noqa: S310 - see _is_http
        with _open(request, timeout=self.timeout_seconds) as response:
            return json.loads(response.read(MOST_BYTES))


def _read(answer: Any, count: int) -> list[tuple[int, float]]:
    """Return places and scores; raises ``ValueError`` for any other answer."""
    results = answer.get("results") if isinstance(answer, Mapping) else answer
    if not isinstance(results, list):
        raise ValueError("The reranker's answer has no list of results.")
    found: dict[int, float] = {}
    for result in results:
        try:
            index = result["index"]
            score = float(result.get("relevance_score", result.get("score")))
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise ValueError("A result of the reranker has no index and score.") from error
        if type(index) is not int or not 0 <= index < count or index in found:
            raise ValueError(
                f"The reranker returned the place {index!r}; each below {count} may come once."
            )
        if not math.isfinite(score):
            raise ValueError(f"The reranker returned the score {score!r}, which is not finite.")
        found[index] = score
    return list(found.items())
