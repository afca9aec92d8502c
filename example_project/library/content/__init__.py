"""The site's texts and the loader that writes them into the database.

In: ``pages/ events/ questions/ notes/``, one Markdown file per text and language
(``fees.en.md``, ``fees.de.md``), each with a head of ``key: value`` lines between ``---``.
Facts that hold in both languages (section, date, branch) stand in the English head alone.
Out: one row per slug. Loading again changes only what differs, so the search index has nothing
to do for a text that stayed the same.
"""

from .loader import Loaded, load

__all__ = ["Loaded", "load"]
