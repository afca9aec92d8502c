"""Counting model tokens, one way everywhere.

No tokenizer of one vendor fits all models, so tokens are estimated from characters: four of an
alphabetic script a token, one of CJK. The estimate is used for budgets and chunk sizes, where a
steady rule matters more than an exact count; what a provider reports is what gets settled.
"""

from __future__ import annotations

import re

# Scripts written without spaces: about one token a character in current tokenizers.
_WIDE = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f]"
)

CHARS_PER_TOKEN = 4


def count_tokens(text: str) -> int:
    """Estimate the tokens of ``text``; 0 only for the empty string."""
    wide = len(_WIDE.findall(text))
    return wide + -(-(len(text) - wide) // CHARS_PER_TOKEN)
