"""A reader that puts an answer together as a page does, and notices every fault of order."""

from __future__ import annotations

import re
from typing import Any

from ai_answers.events import PartChanged

from ..rendering.page import Page, read
from ..sse import SentFrame


class Reader:
    """Takes frames, over any number of connections; ``last_id`` is what it resumes with."""

    def __init__(self) -> None:
        self.last_id = 0
        self.text = ""
        self.page = Page()
        self.known: dict[int, str] = {}
        """The sources told of so far: key by index."""
        self.last: SentFrame | None = None

    def take(self, frame: SentFrame) -> None:
        assert self.last is None, f"{frame} came behind the last frame"
        assert frame.id > self.last_id, f"{frame.id} came behind {self.last_id}"
        self.last_id = frame.id
        data = frame.data
        if frame.kind == "snapshot":
            self._replace(data)
        elif frame.kind == "citation":
            self.known[data["index"]] = data["key"]
        elif frame.kind == "token":
            self.text += data["text"]
            self._check_citations(data["text"])
        elif frame.kind == "part":
            self._change(data)
        elif frame.kind in ("done", "stopped", "error"):
            self.last = frame

    def _replace(self, data: dict[str, Any]) -> None:
        self.known = {r["index"]: r["key"] for r in data["references"] if "index" in r}
        self.text = data.get("text", "")
        self.page = Page()
        self.page.parts = [read(html).content[0] for html in data.get("parts", [])]
        self._check_citations(self.text)

    def _change(self, data: dict[str, Any]) -> None:
        if data.get("html") == "":
            del self.page.parts[data["index"] :]
            return
        child = data.get("child")
        self.page.apply(
            [
                PartChanged(
                    index=data["index"],
                    html=data.get("html"),
                    append=data.get("append"),
                    child=tuple(child) if child is not None else None,
                )
            ]
        )

    def _check_citations(self, text: str) -> None:
        for index in re.findall(r"(?<!\\)\[(\d+)\]", text):
            assert int(index) in self.known, f"[{index}] came before its citation"
