"""What may be cited: sources, and everything that must be known of one at reading time.

A site imports from here; the rest of the app also uses ``access``, ``languages`` and ``block``.
"""

from .base import PublicSource, Source
from .directories import DirectorySource, PublicDirectorySource
from .html import html_to_markdown
from .registry import get_source, register, register_source, registered, unregister

__all__ = [
    "DirectorySource",
    "PublicDirectorySource",
    "PublicSource",
    "Source",
    "get_source",
    "html_to_markdown",
    "register",
    "register_source",
    "registered",
    "unregister",
]
