"""Folders of Markdown, HTML and text files, of PDF and office files as sources.

In: a folder and where its files are served. Out: one document a file, its id the path below the
folder. Files are read when they are used, so an edited or deleted one is noticed at once.
Nothing outside the folder is ever read: links that lead out of it are skipped, hidden files too.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from ..exceptions import ConfigurationError
from ..values import Asker
from .base import Source
from .documents import DOCUMENTS, file_to_markdown, require_reader
from .html import Page, html_to_markdown
from .markdown import markdown_page

MARKDOWN = frozenset({".md", ".markdown"})
HTML = frozenset({".html", ".htm"})
TEXT = frozenset({".txt"})


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file of a directory source: what ``can_view`` and templates are given."""

    path: str
    """Below the folder, with ``/``: ``guide/index.md``."""
    absolute: Path

    @property
    def pk(self) -> str:
        return self.path

    def __str__(self) -> str:
        return self.path

    def read(self) -> str:
        """Return the text; bytes that are not UTF-8 become replacement signs."""
        return self.absolute.read_text(encoding="utf-8-sig", errors="replace")


class DirectorySource(Source):
    """A folder whose readers ``can_view(asker, file)`` decides on; write it in a subclass.

    ``path``: the folder. ``base_url``: where it is served, such as ``/docs/``. ``name``: its
    ``entity_type``. ``language``: of all files. ``url_for``: ``callable(path) -> str`` for
    addresses of another shape. ``suffixes``: which files; those of PDF and office files need the
    extra ``documents``. ``repeated_anchor``: see ``Source``.
    """

    def __init__(
        self,
        *,
        path: str | Path,
        name: str,
        base_url: str = "",
        language: str = "",
        url_for: Callable[[str], str] | None = None,
        suffixes: Iterable[str] = MARKDOWN | HTML | TEXT,
        repeated_anchor: str = Source.repeated_anchor,
    ) -> None:
        self.path = Path(path)
        self.name = name
        self.base_url = base_url
        self.language = language
        self.suffixes = frozenset(suffix.lower() for suffix in suffixes)
        self.repeated_anchor = repeated_anchor
        self._url_for = url_for

    def url_for(self, path: str) -> str:
        """Return the address of a file: its path without suffix, ``index`` being its folder.

        PDF and office files keep their suffix: they are served as they are.
        """
        if self._url_for is not None:
            return self._url_for(path)
        if PurePosixPath(path).suffix.lower() in DOCUMENTS:
            return f"{self.base_url.rstrip('/')}/{quote(path)}" if self.base_url else ""
        parts = list(PurePosixPath(path).with_suffix("").parts)
        if parts[-1] == "index":
            parts.pop()
        tail = "".join(f"{quote(part)}/" for part in parts)
        return f"{self.base_url.rstrip('/')}/{tail}" if self.base_url else ""

    def get_languages(self, obj: File) -> list[str]:
        return [self.language]

    def get_title(self, obj: File, language: str) -> str:
        return self._title(obj) or _words(obj.path)

    def get_url(self, obj: File, language: str) -> str:
        return self.url_for(obj.path)

    def get_content(self, obj: File, language: str) -> str:
        return self._page(obj)[1]

    def get_ids(self) -> list[str]:
        if not self.path.is_dir():
            # Not an empty list: all that is indexed would be taken for deleted.
            raise ConfigurationError(
                f"The source {self.name!r} needs an existing folder as path, not {self.path!r}."
            )
        for suffix in sorted(self.suffixes):
            require_reader(suffix)
        found = []
        for folder, folders, names in os.walk(self.path):  # does not follow links to folders
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in names:
                relative = Path(folder, name).relative_to(self.path).as_posix()
                if self._file(relative) is not None:
                    found.append(relative)
        return sorted(found)

    def get_states(self) -> dict[str, tuple[int, int]]:
        """Return when each file was changed, in nanoseconds, and its size, by id."""
        states = {}
        for path, file in self.get_objects(self.get_ids()).items():
            with contextlib.suppress(OSError):  # gone in between
                state = file.absolute.stat()
                states[path] = (state.st_mtime_ns, state.st_size)
        return states

    def get_changed_since(self, moment: datetime.datetime) -> list[str]:
        since = moment.timestamp() * 1e9
        return [path for path, (changed, _size) in self.get_states().items() if changed >= since]

    def get_objects(self, ids: Iterable[str]) -> dict[str, File]:
        files = ((entity_id, self._file(entity_id)) for entity_id in ids)
        return {entity_id: file for entity_id, file in files if file is not None}

    def get_id(self, obj: File) -> str:
        return obj.path

    def _file(self, path: str) -> File | None:
        parts = PurePosixPath(path).parts
        if not parts or any(part.startswith(".") for part in parts):
            return None  # hidden, or "..": an id from the index is not trusted either
        absolute = self.path / path
        if absolute.suffix.lower() not in self.suffixes:
            return None
        try:
            resolved = absolute.resolve(strict=True)
        except (OSError, RuntimeError, ValueError):  # of a NUL in it, too
            return None
        if not resolved.is_relative_to(self.path.resolve()) or not resolved.is_file():
            return None
        return File(path=path, absolute=resolved)

    def _title(self, file: File) -> str:
        # Asked for each reference that is shown, and an office file takes a second to read.
        return _document_title(*_version(file)) if _is_document(file) else self._page(file)[0]

    def _page(self, file: File) -> tuple[str, str]:
        if _is_document(file):
            return _document(*_version(file))
        text = file.read()
        suffix = PurePosixPath(file.path).suffix.lower()
        if suffix in HTML:
            return html_to_markdown(text)
        if suffix in MARKDOWN:
            return markdown_page(text)
        return "", text


class PublicDirectorySource(DirectorySource):
    """A folder whose every file anyone may read."""

    def can_view(self, asker: Asker, obj: Any) -> bool:
        return True


def _is_document(file: File) -> bool:
    return PurePosixPath(file.path).suffix.lower() in DOCUMENTS


def _version(file: File) -> tuple[Path, int, int]:
    """Return the file and what changes when it does."""
    state = file.absolute.stat()
    return file.absolute, state.st_mtime_ns, state.st_size


@lru_cache(maxsize=1)
def _document(path: Path, _changed: int, _size: int) -> Page:
    return file_to_markdown(path)  # content and title are asked for one after the other


@lru_cache(maxsize=1024)
def _document_title(path: Path, changed: int, size: int) -> str:
    return _document(path, changed, size).title


def _words(path: str) -> str:
    """Make a title of a file's name: ``getting_started.txt`` is "Getting started"."""
    pure = PurePosixPath(path).with_suffix("")
    name = pure.parent.name if pure.name == "index" and pure.parent.name else pure.name
    words = re.sub(r"[-_]+", " ", name).strip()
    return words[:1].upper() + words[1:]
