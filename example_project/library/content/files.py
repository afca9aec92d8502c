"""Read the text files: a head of ``key: value`` lines, then Markdown. No database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
FENCE = "---\n"


def texts(kind: str) -> Iterator[tuple[str, dict[str, dict[str, str]]]]:
    """All texts of one folder, by slug: ``("fees", {"en": {...}, "de": {...}})``.

    Each text is its head plus ``body``. A German file without an English one is an error.
    """
    for english in sorted((HERE / kind).glob("*.en.md")):
        slug = english.name.removesuffix(".en.md")
        translations = {"en": parse(english)}
        german = english.with_name(f"{slug}.de.md")
        if german.exists():
            translations["de"] = parse(german)
        yield slug, translations
    for german in (HERE / kind).glob("*.de.md"):
        if not german.with_name(german.name.replace(".de.md", ".en.md")).exists():
            raise ValueError(f"{german.name!r} has no English text of the same name beside it")


def parse(path: Path) -> dict[str, str]:
    """Split one file into its head and ``body``."""
    text = path.read_text(encoding="utf-8")
    if not text.startswith(FENCE) or FENCE not in text[len(FENCE) :]:
        raise ValueError(f"{path.name!r} must start with a head between two lines of '---'")
    head, body = text[len(FENCE) :].split(FENCE, 1)
    values = {}
    for line in head.splitlines():
        key, separator, value = line.partition(":")
        if not separator:
            raise ValueError(f"{path.name!r}: {line!r} must read 'key: value'")
        values[key.strip()] = value.strip()
    values["body"] = body.strip() + "\n"
    return values
