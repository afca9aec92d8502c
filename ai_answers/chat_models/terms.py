"""Words that two texts can be compared by, whatever their language.

In: text. Out: terms: lower case, without accents, cut to a common beginning, stop words left out;
pairs of characters for scripts without spaces; a name such as ``get_queryset`` or ``ReadOnly``
gives itself and its parts. No Django, no I/O, no dictionary.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# Closed classes of words in the larger European languages: they say nothing about a subject.
_STOP = """
a about after again all also always am an and any are as at be because been before being between
both but by can could did do does doing don down during each else ever every exactly few for from
further get gets getting give go got had has have having he her here hers him his how i if in
instead into is isn it its just let like made make me might more most much must my myself need
needed needs never no nor not now of off on once one only or other our out over please same shall
she should since so some somebody someone something anything anyone everything nothing still such
tell than that the their them then there these they thing this those through to too under up upon
us use used uses using very want wants was way we were what when where which while who whom whose
why will with without would you your aber alle allem allen aller alles als also am an andere
anderen auch auf aus bei beim bin bis bist bitte da dabei damit dann das dass dein dem den denen
denn der deren des dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine
einem einen einer eines er es etwas euch euer fuer gibt hab habe haben hat hatte hier ich ihm ihn
ihnen ihr ihre ihrem ihren im in ins ist ja jede jedem jeden jeder jedes kann kein keine keinen man
mehr mein meine meinem meinen meiner mich mir mit muss nach nicht noch nur ob oder ohne sein seine
sich sie sind so soll sowie ueber um und uns unser unter vom von vor wann warum was welche welchem
welchen welcher welches wenn wer werden wie wieviel wird wir wo wohin zu zum zur zwischen fur uber
moglich au aux avec ce cela ces cet cette comment dans de des du elle elles en est et eux il ils je
la le les leur leurs lui ma mais me meme mes mon ne nos notre nous on ou par pas plus pour quand
que quel quelle quelles quels qui sa sans se ses si son sont sur ta te tes toi ton tous tout tu un
une vos votre vous y a-t qu peut puis faire fait como con cual cuales cuando de del donde el ella
ellas ellos en entre era es esa ese eso esta este esto hay la las lo los mas me mi mis muy nos o
para pero por porque puede puedo que quien se ser si sin sobre son su sus tambien tu un una unos y
ya che chi come con cui da dal dalla dei del della delle di dove e gli ha ho i il in io la le lo
loro ma mi mio nel nella non o per perche piu puo qual quale quali quando quanto questa questo se
si sono sta su sua sue suo tra un una uno vi aan als bij dan dat de deze die dit door een en er
geen haar heb hebben heeft het hij hoe hoeveel ik in is je kan kunnen maar me met mijn moet naar
niet nog of om onder ons onze ook op over te tot uit van veel voor waar waarom wanneer wat we wel
welke wie wij worden wordt ze zich zij zijn ao aos as com da das de do dos e ela ele em entre essa
esse esta este eu ha isso isto ja mais mas me meu minha muito na nas nao nem no nos o onde os ou
para pela pelo por porque posso qual quando quanto que quem se sem ser seu sua sao tem um uma voce
"""
STOP_WORDS = frozenset(_STOP.split())

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_WORD = re.compile(rf"[{UNSPACED}]+|[^\W{UNSPACED}]+", re.UNICODE)
_IS_UNSPACED = re.compile(f"[{UNSPACED}]")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\WA-Za-z\d_]+")
_IS_NAME = re.compile(r"\w_\w|[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z]\d")
# Longest first. What is left has four letters at least, so short words stay as they are.
_CUT = """
isierung ierungen ierung ations ation ungen ements ement amente mente ings ness ing ung ies ied ers
ern est ely ed er en em es os as ly al s e n y a o i
"""
_ENDINGS = tuple(_CUT.split())
_SHORTEST = 4


def terms_of(text: str, *, keep_stop_words: bool = False) -> list[str]:
    """Return the terms of ``text`` in order, repeats included."""
    terms: list[str] = []
    for found in _WORD.finditer(text):
        word = found[0]
        if _IS_UNSPACED.match(word):
            terms += [word] if len(word) == 1 else [word[i : i + 2] for i in range(len(word) - 1)]
            continue
        plain = plain_word(word)
        if plain in STOP_WORDS and not keep_stop_words:
            continue
        if is_name(word):
            terms.append(plain.strip("_"))
            parts = [plain_word(part) for part in _PART.findall(word)]
            terms += [stem(p) for p in parts if len(p) > 1 and p not in STOP_WORDS]
        elif len(plain) > 1 or plain.isdigit():
            terms.append(stem(plain))
    return terms


def is_name(word: str) -> bool:
    """Whether ``word`` looks like an identifier or a product's name."""
    return _IS_NAME.search(word) is not None


def plain_word(word: str) -> str:
    """Return ``word`` in lower case without accents."""
    if word.isascii():
        return word.lower()
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in parts if not unicodedata.combining(c))


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Cut one common ending off, so that forms of a word meet; never to less than four letters."""
    if not word.isalpha():
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            word = word[: -len(ending)]
            # "stopped" and "stop", "running" and "run"
            doubled = len(word) > _SHORTEST and word[-1] == word[-2] and word[-1] not in "lsz"
            return word[:-1] if doubled else word
    return word
