"""From the markers a model writes to the citations a reader can check.

``CitationResolver`` finds the markers, ``CitationNumbering`` gives them the reader's numbers,
``plain_text``, ``without_citations``, ``marked`` and ``is_only_markers`` read a saved answer again.
The forms that count are in ``docs/citations.md``.

words      the words the grammar knows      names     subscripts and intervals
markers    one bracket of numbers           tails     lists of sources the model wrote
groups     brackets and their wrappers      writer    what was let through, escaped
blocks     lines and what they belong to    scanner   the walk through text in pieces
spans      code, math, addresses, tags      resolver  all of it together
"""

from .numbering import CitationNumbering
from .resolver import CitationResolver
from .saved import FIRST_MARK, is_only_markers, marked, plain_text, without_citations

__all__ = [
    "FIRST_MARK",
    "CitationNumbering",
    "CitationResolver",
    "is_only_markers",
    "marked",
    "plain_text",
    "without_citations",
]
