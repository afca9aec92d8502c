"""Reads server-sent events in tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SentFrame:
    id: int
    kind: str
    data: dict[str, Any]


def parse(lines: Iterable[str]) -> Iterator[SentFrame]:
    """Yield the frames of a stream's lines; comments and ``retry`` are passed over."""
    fields: dict[str, str] = {}
    for line in lines:
        if line == "":
            if "data" in fields:
                yield SentFrame(int(fields["id"]), fields["event"], json.loads(fields["data"]))
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")


def frames_of(response: Any) -> list[SentFrame]:
    """Read a Django test response's stream to its end."""
    body = b"".join(response.streaming_content).decode()
    return list(parse(body.split("\n")))
