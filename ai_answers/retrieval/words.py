"""From text to the words an index keeps: lower case, without accents, cut to stems.

In: text and its language. Out: words of letters and digits only, so that nothing in them can be
query syntax. A name such as ``get_queryset`` or ``TokenAuthentication`` gives itself and its
parts. Scripts written without spaces give pairs of characters. No Django, no I/O.

Change ``VERSION`` with any change here: indexed words and query words must agree.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import snowballstemmer

from .stopwords import STOP_WORDS

VERSION = 1
MAX_LETTERS = 64
MAX_QUERY_WORDS = 64

STEMMERS = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "et": "estonian", "eu": "basque", "fi": "finnish",
    "fr": "french", "ga": "irish", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "nb": "norwegian", "ne": "nepali", "nl": "dutch",
    "nn": "norwegian", "no": "norwegian", "pt": "portuguese", "ro": "romanian",
    "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
    "yi": "yiddish", "hi": "hindi",
}  # fmt: skip
# Languages that share another one's script but not its stems.
SCRIPTS = (
    ("ar", re.compile("[\u0600-\u06ff]"), {"ar", "fa", "ur", "ps", "ckb", "ug", "sd"}),
    ("ru", re.compile("[\u0400-\u04ff]"), {"ru", "uk", "be", "bg", "mk", "sr", "kk", "mn", "ky"}),
    ("el", re.compile("[\u0370-\u03ff]"), {"el"}),
    ("ta", re.compile("[\u0b80-\u0bff]"), {"ta"}),
    ("hy", re.compile("[\u0530-\u058f]"), {"hy"}),
)
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
# Letters, digits and the signs written over, under or between them.
MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1-\u05c7\u0610-\u061a\u0640\u064b-\u065f"
    "\u0670\u06d6-\u06dc\u06df-\u06ed\u0900-\u0903\u093a-\u094f\u0951-\u0963\u0980-\u0983"
    "\u09bc-\u09d7\u0a01-\u0dff\u200c\u200d"
)
WORD = re.compile(f"[{UNSPACED}]+|(?:(?![{UNSPACED}])(?:[^\\W_]|[{MARKS}]|_(?=[^\\W_])))+")
IS_UNSPACED = re.compile(f"[{UNSPACED}]")
PART = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9_]+")
MIXED = re.compile("_|[a-z][A-Z]|[A-Z]{2}[a-z]")
FOLDED = re.compile(
    "[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]"
)


def words_of(text: str, language: str) -> list[str]:
    """Return the words to index for ``text`` in ``language`` (a code, "" when not known)."""
    primary = primary_of(language)
    return [stem(word, primary) for word in surface_words(text)]


def primary_of(language: str) -> str:
    """Return the language without its region: ``pt`` of ``pt-br``."""
    return language.replace("_", "-").split("-")[0].lower()


class QueryWord(NamedTuple):
    """A word somebody asked with."""

    surface: str
    """As typed, in lower case."""
    forms: tuple[str, ...]
    """What stands for it in the index, one for each language there."""


def query_words(query: str, languages: Iterable[str], asker_language: str) -> list[QueryWord]:
    """Return the query's words without stop words, at most ``MAX_QUERY_WORDS``, each once.

    ``languages``: those of the indexed documents. A query of nothing but stop words keeps them.
    """
    surface = list(dict.fromkeys(surface_words(query)))
    primaries = list(dict.fromkeys(map(primary_of, languages))) or [""]
    stops = STOP_WORDS.get(query_language(surface, asker_language), frozenset())
    words: dict[tuple[str, ...], QueryWord] = {}
    for word in [word for word in surface if word not in stops] or surface:
        forms = tuple(dict.fromkeys(stem(word, primary) for primary in primaries))
        words.setdefault(forms, QueryWord(word, forms))
    return list(words.values())[:MAX_QUERY_WORDS]


def query_language(words: list[str], asker_language: str) -> str:
    """Guess the language of a query by its stop words, in doubt the asker's; ``""``: no sign."""
    asker = primary_of(asker_language)
    counts = {code: sum(word in stops for word in words) for code, stops in STOP_WORDS.items()}
    best = max(counts, key=lambda code: (counts[code], code == asker))
    return best if counts[best] else ""


def is_in_languages(query: str, languages: Iterable[str], asker_language: str) -> bool:
    """Return whether the query may be in one of ``languages``; without a sign it may."""
    primaries = set(map(primary_of, languages))
    found = query_language(list(surface_words(query)), asker_language)
    return not found or found in primaries or "" in primaries


def surface_words(text: str) -> Iterator[str]:
    """Yield words in lower case, unstemmed, names followed by their parts, pairs of characters."""
    for found in WORD.finditer(unicodedata.normalize("NFKC", text)):
        word = found[0]
        if IS_UNSPACED.match(word):
            yield from (word[i : i + 2] for i in range(max(1, len(word) - 1)))
            continue
        word = word.replace("\u200c", "").replace("\u200d", "")[:MAX_LETTERS]
        if not word:
            continue
        if MIXED.search(word):
            yield word.replace("_", "").lower()
            parts = PART.findall(word)
            if len(parts) > 1:
                yield from (part.lower() for part in parts)
        else:
            yield word.lower()


def stem_once(word: str, primary: str) -> str:
    """Return the form of a lower-case word that is indexed, in the language ``primary``."""
    for script, letters, languages in SCRIPTS:
        if letters.search(word) and primary not in languages:
            primary = script
    name = STEMMERS.get(primary)
    if name is not None and not any(map(str.isdigit, word)):
        # Not thread-safe: a stemmer keeps the word it works on. Making one costs microseconds.
        word = snowballstemmer.stemmer(name).stemWord(word) or word
    folded = FOLDED.sub("", unicodedata.normalize("NFD", word))
    return unicodedata.normalize("NFC", folded).casefold() or word


stem = lru_cache(maxsize=100_000)(stem_once)
"""The same, remembered: texts repeat their words."""
