"""What one indexing run did, in numbers of documents unless said otherwise."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: int = 0
    """Objects whose texts could not be read; what was indexed of them stays."""
    chunks: int = 0
    """Chunks written, or that would be."""
    seconds: float = 0.0

    def __add__(self, other: Report) -> Report:
        return Report(**{name: getattr(self, name) + getattr(other, name) for name in NAMES})

    def __str__(self) -> str:
        text = (
            f"{self.added} added, {self.changed} changed, {self.unchanged} unchanged, "
            f"{self.removed} removed, {self.chunks} chunks, {self.seconds:.1f} s"
        )
        return f"{text}, {self.failed} failed" if self.failed else text


NAMES = Report.__slots__
