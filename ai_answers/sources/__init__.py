"""What may be cited: sources, and everything that must be known of one at reading time.

A site imports from here; the rest of the app also uses ``access``, ``languages`` and ``block``.
"""

from .base import PublicSource, Source
from .changes import objects_changed
from .directories import DirectorySource, PublicDirectorySource
from .documents import DOCUMENTS, UnreadableFile, file_to_markdown
from .html import html_to_markdown
from .registry import (
    get_source,
    parse_key,
    register,
    register_source,
    registered,
    unregister,
)

__all__ = [
    "DOCUMENTS",
    "DirectorySource",
    "PublicDirectorySource",
    "PublicSource",
    "Source",
    "UnreadableFile",
    "file_to_markdown",
    "get_source",
    "html_to_markdown",
    "objects_changed",
    "parse_key",
    "register",
    "register_source",
    "registered",
    "unregister",
]
