"""What in a sentence can be right or wrong by itself: numbers, times, dates and names.

In: text, its language, a calendar. Out: ``Fact`` values that a sentence states (``facts_of``), or
all that a passage can vouch for (``keys_of``). A fact is vouched for when one of its keys is
there: "6 pm" by ``18:00``, "4,50" by ``4.5``, "Freitag" by "Friday". No Django, no I/O.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from ...chat_models.terms import UNSPACED, is_name, plain_word, stem
from .calendar import Calendar


@dataclass(frozen=True, slots=True)
class Fact:
    """Something a passage has to bear out."""

    text: str
    """As the sentence has it."""
    keys: frozenset[str]
    """What vouches for it: any one of these."""


_SPACES = "\u0020\u00a0\u2009\u202f"
# Not behind a letter, as in "B12"; behind one of a script without spaces a number may stand.
_NUMBER = re.compile(
    rf"(?<![A-Za-z_\d\u00c0-\u024f\u0370-\u052f])(?:\d{{1,3}}(?:[{_SPACES}'\u2019]\d{{3}})+(?:[.,]\d+)?"
    r"(?!\d)|\d+(?:[.,:]\d+)*)"
)
_GROUPED = re.compile(rf"\d{{1,3}}(?:[.,'\u2019{_SPACES}]\d{{3}})+")
_DATE = re.compile(r"(?<!\d)(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2\d{2,4})(?!\d)")
_TIME = re.compile(
    rf"\b(\d{{1,2}})(?:[:.h](\d\d))?[{_SPACES}]?(?:(a\.?m|p\.?m)\b\.?|(?:uhr|h|o.clock)\b)|"
    r"\b(\d{1,2}):(\d\d)\b",
    re.I,
)
_LETTER = rf"(?![{UNSPACED}])"
_WORD = re.compile(rf"{_LETTER}[^\W\d_](?:(?:{_LETTER}[\w'\u2019.-])*{_LETTER}\w)?")
_NAME_END = re.compile("['\u2019]s?$")
# Behind one of these a capital letter only begins something.
_BEGIN = ".!?:;\u2026\u2013\u2014\u2022(\"\u201c\u201e\u00ab'\u2018-"
LOUD = 0.34
"""Share of words with a capital letter from which on a text is in a language, or a style, that
gives one to every noun."""

# From four on: two or three of something are often counted by the writer.
NUMBER_WORDS = {
    "en": "four five six seven eight nine ten eleven twelve",
    "de": "vier funf sechs sieben acht neun zehn elf zwolf",
    "fr": "quatre cinq six sept huit neuf dix onze douze",
    "es": "cuatro cinco seis siete ocho nueve diez _ doce",
    "it": "quattro cinque sei sette otto nove dieci undici dodici",
    "nl": "vier vijf zes zeven acht negen tien elf twaalf",
    "pt": "quatro cinco seis sete oito nove dez onze doze",
    "sv": "fyra fem sex sju atta nio tio elva tolv",
    "da": "fire fem seks syv otte ni ti elleve tolv",
    "pl": "cztery piec szesc siedem osiem dziewiec dziesiec jedenascie dwanascie",
}
_SMALL = {"one": 1, "two": 2, "three": 3, "eins": 1, "zwei": 2, "drei": 3, "deux": 2, "trois": 3}
_BY_LANGUAGE = {
    language: {word: value for value, word in enumerate(words.split(), start=4)}
    for language, words in NUMBER_WORDS.items()
}
_ALL_WORDS = {word: value for words in _BY_LANGUAGE.values() for word, value in words.items()}


def facts_of(
    sentence: str, *, language: str, calendar: Calendar, with_names: bool, is_loud: bool
) -> list[Fact]:
    """Return what ``sentence`` states, in order, each once.

    ``language``: that of the answer, a code or "". Without ``with_names``, of names only those
    that no language changes, such as ``A4``. ``is_loud``: its nouns have capital letters,
    so that one alone makes no name.
    """
    facts: dict[frozenset[str], Fact] = {}
    text = unicodedata.normalize("NFC", sentence)
    for fact in (
        *_amounts(text, language, calendar),
        *_names(text, calendar, with_names=with_names, is_loud=is_loud),
    ):
        facts.setdefault(fact.keys, fact)
    return list(facts.values())


def keys_of(passage: str, *, calendar: Calendar) -> frozenset[str]:
    """Return all that ``passage`` can vouch for; generous: any reading of a number counts."""
    text = unicodedata.normalize("NFC", passage)
    keys: set[str] = set()
    for time in _TIME.finditer(text):
        keys |= _time_keys(time)
    for number in _NUMBER.finditer(text):
        keys |= _number_keys(number[0])
    for date in _DATE.finditer(text):
        for part in re.findall(r"\d+", date[0]):
            keys |= {*_number_keys(part), f"month {int(part)}"}
    keys |= {key for name, key in calendar.unspaced.items() if name in text}
    for found in _WORD.finditer(text):
        word = plain_word(found[0])
        keys |= _calendar_keys(word, calendar)
        if value := _ALL_WORDS.get(word) or _SMALL.get(word):
            keys.add(f"number {value}")
        keys |= _name_keys(found[0])
    return frozenset(keys)


def is_loud(text: str) -> bool:
    """Return whether most nouns of ``text`` have a capital letter, as in German."""
    words = [found for found in _WORD.finditer(text) if not _begins(text, found.start())]
    return bool(words) and sum(word[0][0].isupper() for word in words) / len(words) >= LOUD


def _begins(text: str, at: int) -> bool:
    """Return whether a sentence, a quote or an item begins at ``at``."""
    before = text[max(0, at - 4) : at].rstrip()
    return before[-1] in _BEGIN if before else at <= 4


def _amounts(text: str, language: str, calendar: Calendar) -> Iterator[Fact]:
    for date in _DATE.finditer(text):
        for part in re.findall(r"\d+", date[0]):
            yield Fact(date[0], frozenset({*_number_keys(part), f"month {int(part)}"}))
    text = _DATE.sub(" ", text)
    for time in _TIME.finditer(text):
        if _minutes(time) is not None:
            yield Fact(time[0].strip(), frozenset(_time_keys(time)))
    for number in _NUMBER.finditer(_TIME.sub(_without_time, text)):
        yield Fact(number[0], frozenset(_number_keys(number[0])))
    words = _BY_LANGUAGE.get(language, {})
    for found in _WORD.finditer(text):
        word = plain_word(found[0])
        if word in words:
            yield Fact(found[0], frozenset({f"number {words[word]}"}))
        elif keys := _calendar_keys(word, calendar):
            # "may" and "march" are verbs, and a short name may be any word.
            is_name = found[0][0].isupper() or word not in ("may", "march")
            beside = text[max(0, found.start() - 4) : found.end() + 4]
            is_short = word not in calendar.months and word not in calendar.weekdays
            if any(map(str.isdigit, beside)) if is_short else is_name:
                yield Fact(found[0], frozenset(keys))


def _number_keys(written: str) -> set[str]:
    """Return every value ``written`` may have: ``1.500`` is 1500 here and 1.5 there."""
    if not written or len(written) > 40:
        return set()
    keys = {f"number {written}"}
    if _GROUPED.fullmatch(written):
        keys.add(f"number {int(re.sub(r'[^0-9]', '', _ascii(written)))}")
    plain = re.sub(rf"[{_SPACES}'\u2019]", "", _ascii(written)).replace(",", ".")
    whole, sign, rest = plain.rpartition(".")
    if plain.isdigit():
        keys.add(f"number {int(plain)}")
    elif sign and rest.isdigit() and (whole.isdigit() or _GROUPED.fullmatch(whole)):
        keys.add(f"number {Decimal(whole.replace('.', '') + '.' + rest).normalize():f}")
    return keys


def _ascii(written: str) -> str:
    return "".join(str(unicodedata.digit(c)) if c.isdigit() else c for c in written)


def _without_time(time: re.Match[str]) -> str:
    return time[0] if _minutes(time) is None else " "


def _minutes(time: re.Match[str]) -> int | None:
    hour = int(time[1] or time[4])
    minute = int(time[2] or time[5] or 0)
    half = (time[3] or "").lower().replace(".", "")
    if hour > 24 or minute > 59 or (half and not 1 <= hour <= 12):
        return None
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return hour * 60 + minute


def _time_keys(time: re.Match[str]) -> set[str]:
    minutes = _minutes(time)
    if minutes is None:
        return set()
    keys = {f"time {minutes}"}
    if minutes % 60 == 0:
        # "at six" and "18:00" may be the same.
        keys |= {f"number {minutes // 60}", f"number {(minutes // 60 - 1) % 12 + 1}"}
    return keys


def _calendar_keys(word: str, calendar: Calendar) -> set[str]:
    keys = set()
    if word in calendar.months:
        keys.add(f"month {calendar.months[word]}")
    for name in (word, word.removesuffix("s")):  # on Fridays
        if name in calendar.weekdays:
            keys.add(f"weekday {calendar.weekdays[name]}")
    if word.rstrip(".") in calendar.short:
        keys.add(calendar.short[word.rstrip(".")])
    return keys


def _names(text: str, calendar: Calendar, *, with_names: bool, is_loud: bool) -> Iterator[Fact]:
    words = list(_WORD.finditer(text))
    is_big = [word[0][0].isupper() and len(word[0]) > 1 for word in words]
    for place, found in enumerate(words):
        word = found[0]
        wanted = "-" not in word and ("_" in word or any(map(str.isdigit, word)))
        if with_names:
            wanted |= is_name(word) or (word.isupper() and len(word) > 1 and not text.isupper())
            if is_big[place] and not _begins(text, found.start()):
                wanted |= not is_loud or _is_pair(words, is_big, place)
        if wanted and not _calendar_keys(plain_word(word), calendar):
            yield Fact(word, frozenset(_name_keys(word)))


def _is_pair(words: list[re.Match[str]], is_big: list[bool], place: int) -> bool:
    """Return whether a word with a capital letter stands directly beside it, as in a full name."""
    return any(
        is_big[first] and is_big[first + 1] and words[first].end() + 1 == words[first + 1].start()
        for first in (place - 1, place)
        if 0 <= first < len(words) - 1
    )


def _name_keys(word: str) -> set[str]:
    plain = plain_word(_NAME_END.sub("", word)).rstrip(".")
    return {f"name {plain}", f"name {stem(plain)}", f"name {plain.replace('-', '')}"}
