"""A chat model on HTTP that writes what a test planned, when the test lets it.

    model.plan(writes("A card costs 24 euros {Library card}.", go_on, " Under 18 it is free."))

A title in braces becomes the number which the prompt gave to that source; a title that is not
in the prompt stays as it is, for the test to stumble over. An event among the pieces holds the
text back until the test sets it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any

from ai_answers.sources.block import parse_sources

from ..openai_server import OpenAIServer, Request, Status, Stream, Wait, chunk, usage_chunk


@dataclass(frozen=True, slots=True)
class Writing:
    """The steps of a reply."""

    pieces: Sequence[str | Event]

    def __iter__(self) -> Iterator[Any]:
        yield chunk(role="assistant", content="")
        for piece in self.pieces:
            if isinstance(piece, Event):
                while not piece.is_set():
                    yield Wait(seconds=0.02)  # in which the server notices a client that leaves
            else:
                yield from (chunk(content=word) for word in re.findall(r"\s*\S+\s*", piece))
        yield chunk(finish_reason="stop")
        yield usage_chunk()

    def numbered(self, numbers: dict[str, int]) -> Writing:
        def number(title: re.Match) -> str:
            return f"[{numbers[title[1]]}]" if title[1] in numbers else title[0]

        return Writing(
            [p if isinstance(p, Event) else re.sub(r"\{(.+?)\}", number, p) for p in self.pieces]
        )


def writes(*pieces: str | Event) -> Stream:
    """Plan a reply."""
    return Stream(steps=Writing(pieces))


class WritingModel(OpenAIServer):
    """The server; each test plans its replies anew."""

    def plan(self, *replies: Status | Stream) -> None:
        self.requests.clear()
        self.gone.clear()
        self.replies[:] = replies

    def take(self, request: Request) -> Status | Stream:
        reply = super().take(request)
        if isinstance(reply, Stream) and isinstance(reply.steps, Writing):
            return Stream(steps=reply.steps.numbered(_numbers(request.body["messages"])))
        return reply


def _numbers(messages: list[dict[str, Any]]) -> dict[str, int]:
    """Return the number of every source that stands in the prompt, by title."""
    texts = [message["content"] for message in messages if isinstance(message["content"], str)]
    return {source.title: source.number for text in texts for source in parse_sources(text)}
