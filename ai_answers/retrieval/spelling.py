"""Words near a word: one letter more, less, other, or two swapped.

For words of a query that no open chunk holds. In: a word. Out: candidates, to be looked up in the
index's own vocabulary. No Django, no I/O.
"""

from __future__ import annotations

import string

SHORTEST = 4
LONGEST = 24


def spellings(word: str) -> set[str]:
    """Return all words at one edit from ``word``; none for short, long or non-Latin ones."""
    if not SHORTEST <= len(word) <= LONGEST or not (word.isascii() and word.isalpha()):
        return set()
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    shorter = {left + right[1:] for left, right in cuts if right}
    swapped = {left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1}
    other = {left + c + right[1:] for left, right in cuts if right for c in string.ascii_lowercase}
    longer = {left + c + right for left, right in cuts for c in string.ascii_lowercase}
    return (shorter | swapped | other | longer) - {word}
