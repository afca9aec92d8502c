"""Compare each sentence of an answer with the passages it cites (G12, G19).

In: a saved answer and the sources behind its numbers. Out: a ``Support``: a verdict on each
sentence, one on the whole, and for each source the sentence of it that supports most. A number, a
date or a name that its passages lack makes a sentence unsupported; so do words that are not
theirs, where both are in one language, unless an entailment model says that it follows.
Sync and busy, tens of milliseconds: call it off the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from ...chat_models.statements import split_sentences, statements_of
from ...chat_models.terms import terms_of
from ...retrieval.words import primary_of, query_language, surface_words
from ...values import Source
from .calendar import Calendar, calendar_of
from .claims import Claim, claims_of
from .facts import Fact, facts_of, is_loud, keys_of

Verdict = Literal["supported", "unsupported", "unchecked", "uncited"]
Entailment = Callable[[Sequence[tuple[str, str]]], Sequence[float | None]]
"""``(premise, hypothesis)`` pairs in, how likely each hypothesis follows (0 to 1) out."""

LEAST_OVERLAP = 0.4
"""Share of a sentence's words that its passages must have. On XQuAD, questions with their answers
have that of their own paragraph in 0.97 to 0.99 of all cases, of another one of the same article
in 0.06 to 0.07."""
LEAST_OVERLAP_ELSEWHERE = 0.3
"""The same in other scripts than Latin, whose words are cut less well."""
FOLLOWS = 0.5
MOST_CLAIMS = 200
LONGEST_CLAIM = 1_000
QUOTE_CHARS = 240
MOST_QUOTES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What became of one sentence."""

    claim: Claim
    verdict: Verdict
    missing: tuple[str, ...] = ()
    """Numbers, dates and names that its passages lack, as the sentence has them."""

    def as_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "text": self.claim.text,
            "references": list(self.claim.indexes),
            "verdict": self.verdict,
        }
        return data | ({"missing": list(self.missing)} if self.missing else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """How far an answer is borne by what it cites."""

    judgements: tuple[Judgement, ...]
    quotes: Mapping[int, str]
    """For each index, what of the source supports the answer; sentences joined by " … "."""

    @property
    def verdict(self) -> str:
        """``supported``, ``partly`` or ``unsupported``; ``unchecked``, ``uncited``."""
        verdicts = {judgement.verdict for judgement in self.judgements} - {"uncited"}
        if not verdicts:
            return "uncited"
        if "unsupported" not in verdicts:
            return "supported" if "supported" in verdicts else "unchecked"
        return "partly" if len(verdicts) > 1 else "unsupported"

    def as_dict(self) -> dict[str, Any]:
        """The shape on the wire and in the database."""
        return {
            "verdict": self.verdict,
            "sentences": [judgement.as_dict() for judgement in self.judgements],
        }


def check_support(
    answer: str, sources: Mapping[int, Source], *, entailment: Entailment | None = None
) -> Support:
    """Judge ``answer`` by ``sources``, which are named by the numbers that its reader sees.

    ``entailment`` is asked once, about the cited sentences whose facts are all there; what it
    raises passes through.
    """
    claims = claims_of(answer)[:MOST_CLAIMS]
    language = query_language(list(surface_words(answer)), "")
    passages = {index: _Passage.read(source) for index, source in sources.items()}
    known = {"en", language, *(code for p in passages.values() for code in p.languages)}
    calendar = calendar_of(sorted(known - {""}))
    reader = _Reader(passages, calendar=calendar, language=language, is_loud=is_loud(answer))
    judgements = [reader.judge(claim) for claim in claims]
    if entailment is not None:
        judgements = _follow(judgements, passages, entailment)
    return Support(judgements=tuple(judgements), quotes=reader.quotes(judgements))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passage:
    """All text of one source that was before the model."""

    body: str
    text: str
    """The body under its title and headings."""
    languages: frozenset[str]
    terms: frozenset[str]

    @classmethod
    def read(cls, source: Source) -> _Passage:
        body = "\n\n".join(chunk.text for chunk in source.chunks)
        headings = dict.fromkeys(chunk.heading for chunk in source.chunks if chunk.heading)
        text = "\n\n".join([source.title, *headings, body])
        languages = frozenset(primary_of(chunk.language) for chunk in source.chunks)
        return cls(body=body, text=text, languages=languages, terms=frozenset(terms_of(text)))


class _Line(NamedTuple):
    text: str
    terms: frozenset[str]
    keys: frozenset[str]


class _Reader:
    """Judges sentences one by one."""

    def __init__(
        self,
        passages: Mapping[int, _Passage],
        *,
        calendar: Calendar,
        language: str,
        is_loud: bool,
    ) -> None:
        self._passages = passages
        self._calendar = calendar
        self._language = language
        self._is_loud = is_loud
        self._keys: dict[int, frozenset[str]] = {}
        self._lines: dict[int, list[_Line]] = {}

    def judge(self, claim: Claim) -> Judgement:
        cited = [index for index in claim.indexes if index in self._passages]
        if not cited:
            return Judgement(claim=claim, verdict="unchecked" if claim.indexes else "uncited")
        is_one_language = any(self._speaks(claim, index) for index in cited)
        facts = self._facts(claim, with_names=is_one_language)
        keys = frozenset().union(*map(self._keys_of, cited))
        missing = tuple(dict.fromkeys(fact.text for fact in facts if not fact.keys & keys))
        if missing:
            return Judgement(claim=claim, verdict="unsupported", missing=missing)
        if not is_one_language:
            return Judgement(claim=claim, verdict="supported" if facts else "unchecked")
        wanted = set(terms_of(claim.text[:LONGEST_CLAIM]))
        found = wanted & frozenset().union(*(self._passages[index].terms for index in cited))
        least = LEAST_OVERLAP if _is_latin(claim.text) else LEAST_OVERLAP_ELSEWHERE
        is_enough = len(found) >= least * len(wanted)
        return Judgement(claim=claim, verdict="supported" if is_enough else "unsupported")

    def quotes(self, judgements: Sequence[Judgement]) -> dict[int, str]:
        """Return for each cited source its sentences nearest to what is said of it (G03)."""
        chosen: dict[int, dict[str, None]] = {}
        for judgement in judgements:
            for index in judgement.claim.indexes:
                quotes = chosen.setdefault(index, {})
                if judgement.verdict == "unsupported" or len(quotes) == MOST_QUOTES:
                    continue
                if quote := self._nearest(judgement.claim, index):
                    quotes[_cut(quote)] = None
        return {index: " \u2026 ".join(quotes) for index, quotes in chosen.items() if quotes}

    def _nearest(self, claim: Claim, index: int) -> str:
        """Return the line of a source that shares most words and facts with ``claim``."""
        if index not in self._passages:
            return ""
        wanted = set(terms_of(claim.text[:LONGEST_CLAIM]))
        facts = self._facts(claim, with_names=True)
        best, most = "", 0.0
        for line in self._lines_of(index):
            share = len(wanted & line.terms) / (len(wanted | line.terms) or 1)
            if facts:
                share += sum(bool(fact.keys & line.keys) for fact in facts) / len(facts)
            if share > most:
                best, most = line.text, share
        return best

    def _facts(self, claim: Claim, *, with_names: bool) -> list[Fact]:
        return facts_of(
            claim.text[:LONGEST_CLAIM],
            language=self._language,
            calendar=self._calendar,
            with_names=with_names,
            is_loud=self._is_loud,
        )

    def _lines_of(self, index: int) -> list[_Line]:
        if index not in self._lines:
            self._lines[index] = [
                _Line(line, frozenset(terms_of(line)), keys_of(line, calendar=self._calendar))
                for statement in statements_of(self._passages[index].body)
                for line in split_sentences(statement.text)
            ]
        return self._lines[index]

    def _speaks(self, claim: Claim, index: int) -> bool:
        """Return whether a source is in the sentence's language, as far as can be told."""
        passage = self._passages[index]
        if _is_latin(claim.text) != _is_latin(passage.body):
            return False
        known = passage.languages - {""}
        return not (_is_latin(claim.text) and self._language and known) or self._language in known

    def _keys_of(self, index: int) -> frozenset[str]:
        if index not in self._keys:
            text = self._passages[index].text
            self._keys[index] = keys_of(text, calendar=self._calendar)
        return self._keys[index]


def _follow(
    judgements: list[Judgement], passages: Mapping[int, _Passage], entailment: Entailment
) -> list[Judgement]:
    """Let the model decide where nothing is missing."""
    asked = [
        place
        for place, judgement in enumerate(judgements)
        if judgement.verdict != "uncited" and not judgement.missing
    ]
    pairs = []
    for place in asked:
        claim = judgements[place].claim
        texts = [passages[index].text for index in claim.indexes if index in passages]
        pairs.append(("\n\n".join(texts), claim.text))
    scores = list(entailment(pairs)) if pairs else []
    if len(scores) != len(pairs):
        raise ValueError(f"ENTAILMENT gave {len(scores)} scores for {len(pairs)} pairs.")
    for place, score in zip(asked, scores, strict=True):
        if score is not None:
            verdict: Verdict = "supported" if score >= FOLLOWS else "unsupported"
            judgements[place] = replace(judgements[place], verdict=verdict)
    return judgements


def _is_latin(text: str) -> bool:
    letters = [sign for sign in text if sign.isalpha()]
    return 2 * sum(sign < "\u0250" for sign in letters) >= len(letters)


def _cut(quote: str) -> str:
    """Return ``quote`` cut at a word."""
    if len(quote) <= QUOTE_CHARS:
        return quote
    head = quote[: QUOTE_CHARS - 1]
    return f"{head.rsplit(' ', 1)[0] or head}\u2026"
