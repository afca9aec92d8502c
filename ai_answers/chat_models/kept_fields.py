"""Keep what ``ChatOpenAI`` drops of a chunk: a model's reasoning, and the words of a refusal.

In: its class, or one made from it. Out: the same, whose chunks have ``reasoning_content`` and
``refusal`` in ``additional_kwargs``. Without them a model that thinks aloud looks like one that
hangs, and one that refuses like one that found nothing. Both stand in the protocol's chunks as of
langchain-openai 1.7; a package that keeps them itself is left alone. Test it with an HTTP server.
"""

from __future__ import annotations

import functools
from typing import Any

REASONING = ("reasoning_content", "reasoning")
"""What servers call it; the second one is newer."""


class _KeptFields:
    def _convert_chunk_to_generation_chunk(self, chunk: dict, *args: Any, **kwargs: Any) -> Any:
        generated = super()._convert_chunk_to_generation_chunk(chunk, *args, **kwargs)
        choices = chunk.get("choices") or [{}]
        delta = choices[0].get("delta") or {}
        if generated is not None and delta:
            kept = generated.message.additional_kwargs
            reasoning = next((text for name in REASONING if (text := delta.get(name))), None)
            for name, text in (("reasoning_content", reasoning), ("refusal", delta.get("refusal"))):
                if text and isinstance(text, str):
                    kept.setdefault(name, text)
        return generated


@functools.cache
def with_kept_fields(backend: Any) -> Any:
    """Return ``backend`` such that it keeps them, if it is a class that speaks this protocol."""
    is_class = isinstance(backend, type)
    if not is_class or not hasattr(backend, "_convert_chunk_to_generation_chunk"):
        return backend
    namespace = {"__module__": backend.__module__, "__doc__": backend.__doc__}
    return type(backend.__name__, (_KeptFields, backend), namespace)
