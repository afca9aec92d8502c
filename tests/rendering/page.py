"""A page that does with ``part`` frames what a browser's script does, on a small tree."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from html.parser import HTMLParser

from ai_answers.events import PartChanged

VOID = frozenset({"br", "hr"})


class Element:
    def __init__(self, tag: str, attrs: tuple[tuple[str, str], ...] = ()) -> None:
        self.tag = tag
        self.attrs = attrs
        self.content: list[Element | str] = []

    @property
    def elements(self) -> list[Element]:
        return [node for node in self.content if isinstance(node, Element)]

    def put(self, place: int, new: Element) -> None:
        """Replace the element child at this place, or add one behind the last."""
        elements = self.elements
        assert place <= len(elements), (self.html(), place, new.html())
        if place == len(elements):
            self.content.append(new)
        else:
            old = next(at for at, node in enumerate(self.content) if node is elements[place])
            self.content[old] = new

    def html(self) -> str:
        inner = "".join(
            node.html() if isinstance(node, Element) else escape(node, quote=False)
            for node in self.content
        ).replace("\xa0", "&nbsp;")
        attrs = "".join(f' {name}="{escape(value)}"' for name, value in self.attrs)
        end = "" if self.tag in VOID else f"</{self.tag}>"
        return f"<{self.tag}{attrs}>{inner}{end}"


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("root")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, tuple((name, value or "") for name, value in attrs))
        self.open[-1].content.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, f"unbalanced: {tag}"

    def handle_data(self, data: str) -> None:
        self.open[-1].content.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")

    handle_decl = handle_pi = unknown_decl = handle_comment


def read(html: str) -> Element:
    """Parse HTML that must be balanced; the element returned holds what it is made of."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert len(reader.open) == 1, f"left open: {[e.tag for e in reader.open]} in {html!r}"
    return reader.open[0]


class Page:
    """Parts of one answer; a change to any but the last of them fails."""

    def __init__(self) -> None:
        self.parts: list[Element] = []
        self.bytes_sent = 0

    def apply(self, events: Iterable[PartChanged]) -> None:
        for event in events:
            sent = (event.html or "") + (event.append or "")
            self.bytes_sent += len(sent.encode())
            assert event.index >= len(self.parts) - 1, f"a settled part changed: {event}"
            if event.append is not None:
                assert event.append and event.html is None and event.child is None
                assert self.parts[event.index].tag == "pre"
                self.parts[event.index].elements[0].content.append(event.append)
                continue
            assert event.html is not None
            (new,) = read(event.html).content
            assert isinstance(new, Element)
            if event.child is None:
                assert event.index <= len(self.parts)
                self.parts[event.index :] = [new]
            else:
                *above, place = event.child
                element = self.parts[event.index]
                for step in above:
                    element = element.elements[step]
                element.put(place, new)

    def html(self) -> list[str]:
        return [part.html() for part in self.parts]
