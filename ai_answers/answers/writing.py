"""The stages behind the model: deltas in, frames out.

citations → numbering → (coalesced) → token frames, or parts of safe HTML. A delta is taken in
at once; frames leave on ``flush``, which the pipeline calls about ten times a second. Text,
parts and numbers always match the frames that left, so a snapshot taken between two calls is
exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..events import CitationFound, PartChanged, TextDelta
from ..rendering import LinkPolicy, PartRenderer, render
from ..values import AnswerFormat, Frame
from .citations import CitationNumbering, CitationResolver, is_only_markers, without_citations

Emit = Callable[[Frame], None]


class AnswerWriter:
    """Turns model text into the frames of one answer.

    ``key_of(number)`` gives the wire key of a source; ``emit`` takes each frame.
    """

    def __init__(
        self,
        *,
        format: AnswerFormat,
        links: LinkPolicy,
        titles: Callable[[], Sequence[str]],
        key_of: Callable[[int], str],
        emit: Emit,
    ) -> None:
        self._resolver = CitationResolver(titles=titles)
        self._numbering = CitationNumbering()
        self._renderer = PartRenderer(links=links) if format == "html" else None
        self._links = links
        self._key_of = key_of
        self._emit = emit
        self._pending: list[TextDelta | CitationFound] = []
        self.text = ""
        """What has left so far: Markdown with ``[n]`` citations."""
        self.cited: list[int] = []
        """The model's numbers of the sources cited in ``text``, in order of first citation."""

    @property
    def parts(self) -> list[str]:
        """HTML of each part that has left so far; empty for the Markdown format."""
        return list(self._renderer.parts) if self._renderer else []

    @property
    def has_pending(self) -> bool:
        return bool(self._pending)

    @property
    def invalid_citations(self) -> int:
        return self._resolver.invalid_citations

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said: no text, or markers alone (G17)."""
        return not self.text.strip() or is_only_markers(self.text)

    def know_sources(self, count: int) -> None:
        """Let markers up to ``count`` resolve from here on."""
        self._resolver.source_count = count

    def write(self, delta: str) -> None:
        """Take in model text; nothing leaves before ``flush``."""
        for event in self._resolver.feed(delta):
            self._pending += self._numbering.feed(event)

    def flush(self) -> None:
        """Send what has come in since the last flush; citations before the text that cites."""
        pending, self._pending = self._pending, []
        text = "".join(event.text for event in pending if isinstance(event, TextDelta))
        for event in pending:
            if isinstance(event, CitationFound):
                self.cited.append(event.number)
                key = self._key_of(event.number)
                self._emit(Frame(kind="citation", data={"index": event.index, "key": key}))
        if text:
            self._send(text)

    def close(self) -> None:
        """Send everything held back: the answer is complete, or was cut here."""
        for event in self._resolver.flush():
            self._pending += self._numbering.feed(event)
        self.flush()
        if self._renderer:
            self._send_parts(self._renderer.flush())

    def catch_up(self) -> None:
        """Send what the renderer held back of an open part; the model pauses."""
        if self._renderer:
            self._send_parts(self._renderer.catch_up())

    def clear(self) -> None:
        """Forget what was written; readers have to be told."""
        self.text, self.cited = "", []
        if self._renderer:
            self._renderer.parts[:] = [""] * len(self._renderer.parts)

    def retract(self) -> None:
        """Take the citations back and keep the words; readers have to be told (G18)."""
        self.text, self.cited = without_citations(self.text), []
        if self._renderer:
            self._renderer.parts[:] = [render(self.text, links=self._links, reference_count=0)]

    def add(self, html: str) -> None:
        """Send a part of the site's own below the answer, where parts are sent at all."""
        if self._renderer and html:
            self._renderer.parts.append(html)
            change = PartChanged(index=len(self._renderer.parts) - 1, html=html)
            self._send_parts([change])

    def say(self, message: str) -> None:
        """Send a text of the site's own behind ``close``: no citation is looked for in it."""
        self._send(message)
        if self._renderer:
            self._send_parts(self._renderer.flush())

    def _send(self, text: str) -> None:
        self.text += text
        if self._renderer is None:
            self._emit(Frame(kind="token", data={"text": text}))
            return
        self._renderer.reference_count = len(self.cited)
        self._send_parts(self._renderer.feed(text))

    def _send_parts(self, changes: Sequence[PartChanged]) -> None:
        for change in changes:
            data: dict[str, object] = {"index": change.index}
            if change.child is not None:
                data["child"] = list(change.child)
            if change.append is not None:
                data["append"] = change.append
            else:
                data["html"] = change.html
            self._emit(Frame(kind="part", data=data))
