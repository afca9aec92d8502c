"""Pick the statements of numbered sources that answer a question, or none.

In: a question and the sources a model was given. Out: up to four ``Quotation`` values, best
first. A statement earns what it covers of the question, where a rare word counts for more and a
word the sources lack counts most: that is what tells a question nobody wrote about from one
somebody did. Words in the headings above a statement count in part. No Django, no I/O.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

from ..sources.block import NumberedText
from .statements import Statement, statements_of
from .terms import plain_word, terms_of

MAX_QUOTATIONS = 4
MIN_BEST = (0.4, 0.22)
"""Share of the question, by weight, that the best quotation must cover: of one with
``SHORT_QUESTION`` terms or fewer, and of one with ``LONG_QUESTION`` or more. A long question has
words around what it asks."""
MIN_TOGETHER = (0.5, 0.3)
"""The same for all quotations together."""
MIN_TERMS = 4
"""Terms the best one must cover, or half of those there are …"""
ENOUGH_TOGETHER = 0.6
"""… unless all together cover this share."""
SHORT_QUESTION, LONG_QUESTION = 4, 10
MIN_SHARE, MIN_SHARE_NEW = 0.7, 0.4
"""What a further quotation must earn, as a share of the best one: usually, and when it covers
``MIN_NEW`` of the question that no other does."""
MIN_NEW = 0.12
HEADING_WEIGHT = 0.7
TITLE_WEIGHT = 0.5
LONG_WORDS = 45
"""Words above which a statement loses, slowly: it covers much by its length alone."""
SHORT_WORDS = 6
"""Words up to which a statement is shown with its heading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotation:
    """One statement, and the number of its source."""

    number: int
    statement: Statement

    def as_markdown(self) -> str:
        """Return the statement with its citation behind it, as a paragraph of its own."""
        text = self.statement.text
        if self.statement.headings and len(text.split()) <= SHORT_WORDS:
            text = f"{self.statement.headings[-1]}: {text}"
        quoted = f"{_escaped(text)} [{self.number}]"
        if self.statement.code:
            fence = "`" * (max(map(len, re.findall("`{3,}", self.statement.code)), default=2) + 1)
            quoted += f"\n\n{fence}\n{self.statement.code}\n{fence}"
        return quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    order: int
    number: int
    statement: Statement
    own: frozenset[str]
    weights: dict[str, float]
    """Question term → how far this statement covers it, 0 to 1."""
    score: float


def quote(
    question: str, sources: Sequence[NumberedText], *, background: str = ""
) -> list[Quotation]:
    """Return the best quotations for ``question``, best first; none when nothing fits.

    ``background`` is what was asked before, for a question that may need it: its words count for
    a half, and not at all where the question fits without them.
    """
    read = [(source, statement) for source in sources for statement in statements_of(source.text)]
    words = [_Words.of(source, statement) for source, statement in read]
    found = _find(question, background, read, words)
    if not found and background and len(set(terms_of(question))) > 1 and not points_back(question):
        found = _find(question, "", read, words)
    return [Quotation(number=c.number, statement=c.statement) for c in found]


def _find(
    question: str,
    background: str,
    read: Sequence[tuple[NumberedText, Statement]],
    words: Sequence[_Words],
) -> list[_Candidate]:
    wanted = _weights(question, background, words)
    if not read or not wanted:
        return []
    numeric = bool(_ASKS_A_NUMBER.search(question))
    candidates = [
        _candidate(order, source, statement, own, wanted, numeric=numeric)
        for order, ((source, statement), own) in enumerate(zip(read, words, strict=True))
    ]
    return _choose([c for c in candidates if c.score > 0], wanted)


@dataclass(frozen=True, slots=True)
class _Words:
    own: frozenset[str]
    code: frozenset[str]
    headings: frozenset[str]
    title: frozenset[str]

    @classmethod
    def of(cls, source: NumberedText, statement: Statement) -> _Words:
        return cls(
            frozenset(terms_of(statement.text)),
            frozenset(terms_of(statement.code)),
            _heading_terms(" ".join(statement.headings)),
            _heading_terms(source.title),
        )

    @property
    def all(self) -> frozenset[str]:
        return self.own | self.code | self.headings | self.title


@lru_cache(maxsize=1_000)
def _heading_terms(text: str) -> frozenset[str]:
    return frozenset(terms_of(text))


def _weights(question: str, background: str, words: Sequence[_Words]) -> dict[str, float]:
    """Weigh each term of the question by how rare it is in these sources."""
    counts = Counter(term for word in words for term in word.all)
    total = len(words)
    wanted: dict[str, float] = {}
    for share, text in ((1.0, question), (0.5, background)):
        for term in terms_of(text):
            known = _nearest(term, counts)
            rarity = math.log(1 + (total - counts[known] + 0.5) / (counts[known] + 0.5))
            wanted.setdefault(known, share * rarity)
    return wanted


def _nearest(term: str, counts: Counter[str]) -> str:
    """Return ``term``, or what a slip of the keyboard would have meant in these sources."""
    if term in counts or len(term) < 5 or not term.isalpha():
        return term
    alike = (known for known in counts if known[0] == term[0] and abs(len(known) - len(term)) < 3)
    return next(iter(get_close_matches(term, alike, n=1, cutoff=0.8)), term)


def _candidate(
    order: int,
    source: NumberedText,
    statement: Statement,
    words: _Words,
    wanted: dict[str, float],
    *,
    numeric: bool,
) -> _Candidate:
    weights = {}
    for term in wanted:
        if term in words.own:
            weights[term] = 1.0
        elif term in words.headings or term in words.code:
            weights[term] = HEADING_WEIGHT
        elif term in words.title:
            weights[term] = TITLE_WEIGHT
    own = words.own & wanted.keys()
    length = len(statement.text.split())
    score = _share(weights, wanted)
    if numeric and any(c.isdigit() for c in statement.text):
        score *= 1.15
    score /= 1 + length / 2000 + max(0, length - LONG_WORDS) / 100
    # Without a word of its own only a short fact directly under its heading fits.
    if not own:
        score *= 0.8 if length <= 2 * SHORT_WORDS and words.headings & wanted.keys() else 0.5
    return _Candidate(
        order=order,
        number=source.number,
        statement=statement,
        own=words.own,
        weights=weights,
        score=score,
    )


def _share(weights: dict[str, float], wanted: dict[str, float]) -> float:
    return sum(wanted[t] * w for t, w in weights.items()) / sum(wanted.values())


def _choose(candidates: list[_Candidate], wanted: dict[str, float]) -> list[_Candidate]:
    ranked = sorted(candidates, key=lambda c: (-c.score, c.order))
    if not ranked or ranked[0].score < _between(MIN_BEST, len(wanted)):
        return []
    chosen = [ranked[0]]
    covered = dict(ranked[0].weights)
    while len(chosen) < MAX_QUOTATIONS:
        best, gain = None, 0.0
        for candidate in ranked:
            if candidate in chosen or any(_alike(candidate, other) for other in chosen):
                continue
            together = _union(covered, candidate.weights)
            new = _share(together, wanted) - _share(covered, wanted)
            worth = candidate.score + new
            share = MIN_SHARE if new < MIN_NEW else MIN_SHARE_NEW
            enough = candidate.score >= share * ranked[0].score
            if enough and worth > gain:
                best, gain = candidate, worth
        if best is None:
            break
        chosen.append(best)
        covered = _union(covered, best.weights)
    together = _share(covered, wanted)
    few_terms = len(ranked[0].weights) < min(MIN_TERMS, math.ceil(len(wanted) / 2))
    if together < _between(MIN_TOGETHER, len(wanted)) or (few_terms and together < ENOUGH_TOGETHER):
        return []
    return chosen


def _between(bounds: tuple[float, float], terms: int) -> float:
    """Return the bound for a question of ``terms`` terms."""
    part = (terms - SHORT_QUESTION) / (LONG_QUESTION - SHORT_QUESTION)
    return bounds[0] + (bounds[1] - bounds[0]) * min(max(part, 0), 1)


def _union(left: dict[str, float], right: dict[str, float]) -> dict[str, float]:
    return {t: max(left.get(t, 0), right.get(t, 0)) for t in left.keys() | right.keys()}


def _alike(left: _Candidate, right: _Candidate) -> bool:
    """Whether two statements say the same, as overlapping chunks and repeated pages do."""
    both = len(left.own & right.own)
    return both > 0.7 * max(1, min(len(left.own), len(right.own)))


# Question words for an amount, a time or a price.
_ASKS_A_NUMBER = re.compile(
    r"\b(how (?:many|much|long|often|old|big|far|late|early)|when|what time|until|since|cost|price|"
    r"which version|wie ?viele?|wie (?:lange|oft|hoch|spät|weit|alt)|wann|kostet|kosten|preis|"
    r"combien|quand|jusqu|heure|coût|prix|cu[aá]nt\w*|cu[aá]ndo|hora|cuesta|precio|quant[oiae]|"
    r"costa|prezzo|hoeveel|wanneer|hoe (?:lang|laat|vaak)|kost|prijs|custa|preço|horas?)\b"
    r"|多少|几|何時|いくら",
    re.I,
)


def self_contained(question: str, earlier: Sequence[str]) -> tuple[str, str]:
    """Return ``question`` as a query that stands alone, and what was added to it.

    A short question, or one that points back, gets the words of the one before that it lacks.
    """
    own = terms_of(question)
    if not earlier or (len(set(own)) > 3 and not points_back(question)):
        return question, ""
    added: list[str] = []
    for before in reversed(earlier):
        for word in re.findall(r"[\w'-]+", before):
            terms = terms_of(word)
            if terms and not set(terms) <= {*own, *terms_of(" ".join(added))}:
                added.append(word)
        if len(added) >= 2:
            break  # an earlier question that itself pointed back says too little
    return " ".join([question, *added]), " ".join(added)


def points_back(question: str) -> bool:
    """Whether ``question`` has a word that stands for something said before."""
    return any(plain_word(word) in _POINTERS for word in re.findall(r"\w+", question))


_POINTING = """
it its that this these those them they one ones there same other another both two else
es das dies diese dieser dieses sie ihn ihm dort dafur davon dazu damit daran dabei beide gleiche
ca cela ceci celui celle ceux y en les leur meme eso esto esa ese eso ella ello alli mismo misma
questo quello cio ci ne stesso stessa dit deze die er daar zelfde isso isto ele ela mesmo mesma
"""
_POINTERS = frozenset(_POINTING.split())


def _escaped(text: str) -> str:
    """Keep a bracketed number in quoted text from passing for a citation."""
    return re.sub(r"\[(\d[\d\s,;-]*)\](?!\()", r"(\1)", text)
