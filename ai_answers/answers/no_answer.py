"""Recognise an answer that says there is none: "I could not find this in the sources" (G18, D47).

In: a saved answer. Out: whether that is all it says. A model may cite even then; such citations
support nothing. An answer that goes on with something cited, or that says so of a part only
("…, but on weekdays it opens at five [1]"), is an answer.
Knows the languages in ``PATTERNS``; in others, such an answer counts as answered.
No Django, no I/O.
"""

from __future__ import annotations

import re

from ..chat_models.terms import plain_word
from .support.claims import claims_of

MOST_OTHER_CLAIMS = 3
"""Uncited sentences beside it, such as advice on whom to ask instead."""

# A page may be what an answer is about, so only what can but mean the sources counts.
_EN_GIVEN = r"(?:our|these|those|your|provided|given|available|retrieved|searched|found)"
_EN_SOURCES = (
    rf"(?:sources?|context|passages?|{_EN_GIVEN} (?:pages|documents|texts|articles|material|"
    r"information|content))"
)
_EN_TELL = (
    r"(?:cover|mention|contain|say|state|specify|provide|include|address|answer|give|discuss|"
    r"describe|tell|explain|enough|sufficient)"
)
_DE_SOURCES = (
    r"(?:quellen?|auszugen?|unterlagen|(?:unseren?|diesen?|bereitgestellten|vorliegenden|"
    r"gefundenen|verfugbaren) (?:seiten|dokumenten?|texten?|informationen))"
)
_DE_TELL = (
    r"(?:enthalt|erwahn|nenn|sag|steh|find|gefunden|geb|gib|hervor|beantwort|angab|auskunft|"
    r"information|abgedeckt)"
)
_FR_SOURCES = (
    r"(?:sources|nos pages|(?:documents|pages|textes|informations) (?:fourni|disponible)\w*)"
)
PATTERNS = {
    "en": (
        r"\b(?:i|we)\b.{0,20}\b(?:(?:could|can|did|do|was|were|am|are|have)(?:n.t|\s?not)|"
        r"(?:am|was|were|are) unable)\b.{0,40}\b(?:find|found|locate|answer|determine|know|"
        r"have (?:any|enough|information|anything|details))\b",
        r"\b(?:i|we)\b.{0,10}\b(?:found|have|see) (?:no (?:information|mention|source|page|answer)|"
        r"nothing)\b",
        rf"\b{_EN_SOURCES}\b.{{0,60}}\b(?:do|does|did|is|are)(?:n.t| not)\b.{{0,30}}\b{_EN_TELL}",
        rf"\b{_EN_SOURCES}\b.{{0,10}}\b{_EN_TELL}s? nothing\b",
        rf"\b(?:none of the|no|nothing in the) (?:\w+ )?{_EN_SOURCES}\b.{{0,60}}\b{_EN_TELL}",
        r"\bno (?:\w+ )?(?:information|mention|details?)\b.{0,60}\b(?:about|on|regarding|found)\b",
        r"\bno (?:\w+ )?sources?\b.{0,20}\bfound\b",
        r"\bnothing (?:about|on) (?:this|that|it)\b",
    ),
    "de": (
        r"\b(?:ich|wir)\b.{0,60}\b(?:nicht|nichts|keine[nr]?)\b.{0,60}(?:finden|gefunden|beantworten)",
        rf"\b{_DE_SOURCES}\b.{{0,60}}\b(?:nicht|nichts|keine[nr]?)\b.{{0,40}}{_DE_TELL}",
        rf"{_DE_TELL}\w*\b.{{0,30}}\b{_DE_SOURCES}\b.{{0,40}}\b(?:nicht|nichts|keine[nr]?)\b",
        r"\bkeine[nr]? (?:\w+ )?(?:informationen?|angaben?|hinweise?|auskunft|quellen?|antwort)\b"
        r".{0,60}\b(?:zu|zum|zur|uber|daruber|dazu|gefunden|vorhanden|enthalten|verfugbar)\b",
        rf"\bnicht aus den (?:\w+ )?{_DE_SOURCES}\b",
        r"\b(?:daruber|dazu|hierzu) (?:steht|findet sich|gibt es|habe ich|finde ich)\b.{0,40}"
        r"\b(?:nichts|keine[nr]?)\b",
    ),
    "fr": (
        r"\bje n.(?:ai|\s).{0,20}\b(?:pas|rien|aucune?)\b.{0,30}(?:trouve|information|repondre)",
        r"\bje ne (?:trouve|peux|sais|dispose)\b.{0,20}\b(?:pas|rien|aucune?)\b",
        rf"\b{_FR_SOURCES}\b.{{0,40}}\b(?:ne|n)\b.{{0,20}}(?:mention|contien|indiqu|precis|dis|donn|"
        r"fourni|parl|couvr|abord).{0,20}\b(?:pas|rien|aucune?)\b",
        r"\baucune (?:information|mention|source|page|reponse)\b",
    ),
    "es": (
        r"\bno (?:he |hemos |pude |puedo |se ha |se han |logre )?(?:encontr|hall)",
        r"\b(?:fuentes|nuestras paginas)\b.{0,40}\bno\b.{0,30}(?:mencion|contien|dice|cubr|inclu|"
        r"especific|indic|proporcion|ofrec|abord)",
        r"\bno hay (?:informacion|datos|mencion|ninguna)\b",
    ),
    "it": (
        r"\bnon (?:ho|abbiamo|sono riuscit[oa] a|siamo riusciti a|riesco a) trova",
        r"\b(?:fonti|nostre pagine)\b.{0,40}\bnon\b.{0,30}(?:menzion|conten|contien|dic|copr|"
        r"specific|indic|fornisc|parla|riport)",
        r"\b(?:nessuna informazione|nessuna menzione|non ci sono informazioni)\b",
    ),
    "pt": (
        r"\bnao (?:encontr|foi possivel encontrar|consegui encontrar|localiz)",
        r"\b(?:fontes|nossas paginas)\b.{0,40}\bnao\b.{0,30}(?:mencion|cont|diz|dizem|abord|"
        r"cobre|especific|inform|fornec|indic)",
        r"\bnao ha (?:informac|nenhuma|mencao)",
    ),
    "nl": (
        r"\b(?:ik|we|wij)\b.{0,40}\b(?:niet|niets|geen)\b.{0,40}(?:vinden|gevonden|beantwoorden)",
        r"\b(?:bronnen|onze pagina.?s)\b.{0,60}\b(?:niet|niets|geen)\b",
        r"\bgeen (?:informatie|bron|vermelding)\b",
    ),
    "sv": (r"\bjag (?:kunde inte|kan inte|hittade (?:inte|inget|ingen))\b",
           r"\bkallorna\b.{0,40}\binte\b"),
    "da": (
        r"\bjeg (?:kunne ikke|kan ikke|fandt (?:ikke|intet|ingen)|fant (?:ikke|ingen))\b",
        r"\bkildene?(?:rne)?\b.{0,40}\b(?:ikke|intet)\b",
    ),
    "pl": (r"\bnie (?:znala|uda[lł]o sie znalezc|moge znalezc)", r"\bzrod[lł]a\b.{0,40}\bnie\b",
           r"\bbrak informacji\b"),
    "ru": (r"\bне (?:удалось наити|нашел|нашла|наиден|могу наити)", r"\bисточники?\b.{0,40}\bне\b",
           r"\bнет информации\b"),
    "zh": (r"(?:没有|沒有|未能|未|无法|無法).{0,6}(?:找到|提及|提到|说明|說明)",
           r"(?:来源|來源|资料|資料).{0,12}(?:没有|沒有|未)"),
    "ja": (r"見つかりません|見つけられません|情報.{0,3}ありません",),
}  # fmt: skip
"""Of text as ``plain_word`` gives it, in lower case and without accents, by language."""

_SAYS_NONE = re.compile("|".join(p for patterns in PATTERNS.values() for p in patterns))
# What stands behind one of these is something that was found after all.
_BUT = re.compile(
    r"\b(?:but|however|although|though|only that|aber|jedoch|allerdings|sondern|mais|cependant|"
    r"pero|sin embargo|ma|tuttavia|mas|porem|maar|echter|men|ale|jednak|но|однако)\b"
    r"|但|しかし|たたし"
)
_LONGEST_SENTENCE = 600
LONGEST = 3_000
"""Characters; an answer of more says more than that there is none."""


def says_none(answer: str) -> bool:
    """Return whether ``answer`` says that there is no answer, and nothing else that is cited."""
    if len(answer) > LONGEST:
        return False
    # Most answers begin with something else, and need not be read to their end.
    beginning = claims_of(answer[: 2 * _LONGEST_SENTENCE])
    if not beginning or not _is_none(beginning[0].text):
        return False
    claims = claims_of(answer)
    others = [claim for claim in claims[1:] if not _is_none(claim.text)]
    return len(others) <= MOST_OTHER_CLAIMS and not any(claim.indexes for claim in others)


def _is_none(sentence: str) -> bool:
    text = plain_word(sentence[:_LONGEST_SENTENCE])
    found = _SAYS_NONE.search(text)
    return found is not None and not _BUT.search(text, found.end())
