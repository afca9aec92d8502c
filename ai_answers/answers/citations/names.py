"""What stands before or behind a bracket and makes it a subscript or an interval (M11).

In: the text before a bracket, at most 80 characters of it, and the text behind it.
No Django and no I/O.
"""

from __future__ import annotations

import re

from .markers import BLANKS, WAIT, Bracket, Status
from .words import INTERVAL_SIGNS, INTERVAL_WORDS, NO_IDENTIFIERS

LOOK_BACK = 80
CITED = "\ufffc"
"""Stands for a citation in the text that is looked back at."""

_NAME = re.compile(r"\$?[^\W\d]\w*(?:\.[^\W\d]\w*)*\Z")
_CAMEL = re.compile(r"[a-z]+\d*[A-Z]")
_UNIT = re.compile(r"[a-zµ][A-Z]{1,2}[a-z]?")
_ADDRESS_START = re.compile(
    r"(?:^|[\s(<\[\"'])(?:www\.|mailto:|tel:)"
    r"[^\s<>\"`|*)\]}\u3000-\u303f\uff00-\uffef]*\Z",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"/|\A\(\s*(?:#|\?|www\.|(?:https?|ftp|mailto|javascript|vbscript|data|file|tel):)"
    r"|\.(?:html?|php|aspx?|pdf|md|txt|docx?)\b",
    re.IGNORECASE,
)
_LAST_WORD = re.compile(r"([^\W\d_]+)\s*\Z")
_SENTENCE_END = re.compile(r"[.!?][\s\"')\]]|[。！？]|\n\s*\n")


def name_before(before: str) -> str:
    """Return the name that a text ends in; empty when it ends in none."""
    if not before or not (before[-1].isalnum() or before[-1] == "_"):
        return ""
    name = _NAME.search(_last_run(before))
    return name[0] if name else ""


def _last_run(before: str) -> str:
    """Cut to the last run of characters a name may hold: searching stays linear."""
    at = len(before)
    while at and (before[at - 1].isalnum() or before[at - 1] in "_.$"):
        at -= 1
    return before[at:]


def is_identifier(name: str) -> bool:
    """Whether a name alone shows that it is code: ``row_data``, ``sys.argv``, ``rowData``."""
    if name.startswith("$"):
        return True
    if "_" in name.strip("_"):
        return True
    parts = name.split(".")
    if len(parts) > 1:
        # "p.m", "e.g" and "U.S" are abbreviations.
        return any(len(part) > 1 for part in parts)
    if name.lower() in NO_IDENTIFIERS or _UNIT.fullmatch(name):
        return False
    return _CAMEL.match(name) is not None


def is_used_as_code(behind: str, *, is_final: bool) -> bool | Status:
    """Whether what follows ``name[2]`` makes it code: ``=``, `` =``, ``(x)``, ``.x``."""
    sign, following = behind[:1], behind[1:2]
    if not sign:
        return False if is_final else WAIT
    if sign == "=":
        return True
    if sign in " .":
        if not following:
            return False if is_final else WAIT
        return following == "=" if sign == " " else following.islower()
    if sign != "(":
        return False
    return _is_call(behind, is_final=is_final)


def _is_call(behind: str, *, is_final: bool) -> bool | Status:
    depth = 0
    for at, sign in enumerate(behind):
        depth += (sign == "(") - (sign == ")")
        if not depth or sign.isspace():
            return _ADDRESS.search(behind[: at + 1]) is None
        if sign in ":/" and _ADDRESS.search(behind[: at + 1]):
            return False
    return False if is_final else WAIT


def is_interval(bracket: Bracket, before: str) -> bool:
    """Whether ``[1, 5]`` is one: ascending, behind such a word, first in its sentence."""
    if len(bracket.items) != 2 or not bracket.is_comma_list:
        return False
    (first, first_end), (last, last_end) = bracket.items
    if first != first_end or last != last_end or int(first) >= int(last):
        return False
    text = before.rstrip(BLANKS + "\n")
    word = _LAST_WORD.search(text[-24:])
    is_behind_word = word is not None and word[1].casefold() in INTERVAL_WORDS
    if not is_behind_word and not text.endswith(INTERVAL_SIGNS):
        return False
    end = 0
    for found in _SENTENCE_END.finditer(text):
        end = found.end()
    return CITED not in text[end:]


def is_in_address(before: str) -> bool:
    """Whether a text ends inside an address without ``://``."""
    return _ADDRESS_START.search(before) is not None
