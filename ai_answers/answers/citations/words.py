"""The words the citation grammar knows, in the languages answers are written in.

Data only. All of them are case-folded; look a word up with ``casefold()``.
"""

from __future__ import annotations


def _fold(text: str, *, separator: str = " ") -> frozenset[str]:
    words = text.replace("\n", separator).split(separator)
    return frozenset(word.strip().casefold() for word in words if word.strip())


SOURCE_WORDS = _fold(
    """
    source sources src ref refs reference references citation citations cite cites doc docs
    document documents id ids footnote footnotes
    quelle quellen beleg belege dokument dokumente
    réf réfs référence références fuente fuentes referencia referencias documento documentos
    fonte fonti fontes riferimento riferimenti referência referências
    bron bronnen verwijzing källa källor kilde kilder lähde lähteet
    źródło źródła zdroj zdroje forrás források kaynak kaynaklar sursă surse
    источник источники джерело джерела πηγή πηγές מקור מקורות
    المصدر المصادر مصدر مصادر المرجع المراجع مرجع مراجع
    来源 來源 资料 資料 文献 文獻 出处 出處 引用 参考 參考
    参考文献 出典 参照 情報源 ソース 출처 참고
    """
)
"""May stand before the number in a bracket: ``[Source 2]``, ``(ID: 2)``."""

CONJUNCTIONS = _fold("and und et y e en och og ja oraz ve и та και ו و 和 及 与 與 と および 및")
"""Join the last two numbers of a list: ``[2 and 4]``."""

TAIL_WORDS = _fold(
    """
    source|sources|source list|list of sources|sources cited|sources used|cited sources
    reference|references|reference list|list of references|citation|citations
    works cited|bibliography|footnotes|sources and references|sources & references
    references and sources
    quelle|quellen|quellenangabe|quellenangaben|quellenverzeichnis|belege|nachweise
    einzelnachweise|referenzen|literatur|literaturverzeichnis|fußnoten|verweise
    référence|références|bibliographie|notes et références|sources citées|sources utilisées
    fuente|fuentes|referencia|referencias|bibliografía|citas|fuentes consultadas
    fonte|fonti|riferimenti|bibliografia|citazioni|fonti citate
    bron|bronnen|bronvermelding|referenties|verwijzingen|bronnenlijst|literatuur
    fontes|referência|referências|citações|referências bibliográficas
    källa|källor|källförteckning|referenser|kilde|kilder|referanser|referencer|kildeliste
    lähteet|viitteet|źródło|źródła|przypisy|odwołania|zdroj|zdroje|odkazy|reference list
    forrás|források|hivatkozások|kaynak|kaynaklar|kaynakça|referanslar|surse|referințe
    источник|источники|ссылки|список литературы|литература|джерело|джерела|посилання
    πηγή|πηγές|αναφορές|βιβλιογραφία|מקור|מקורות|הפניות
    المصدر|المصادر|مصادر|المراجع|مراجع|المصادر والمراجع|قائمة المراجع|منابع
    来源|來源|资料来源|資料來源|参考资料|參考資料|参考来源|參考來源|参考文献|參考文獻
    信息来源|引用来源|引用|出处|出處|参考|參考
    出典|参照|参考資料|引用元|引用文献|情報源|ソース|参照元|출처|참고|참고문헌|참고 문헌|참고 자료
    """,
    separator="|",
)
"""Alone on a line they head a list of sources that the model wrote."""

INTERVAL_WORDS = _fold(
    """
    in between range interval within zwischen bereich intervall im entre dans intervalle plage
    en intervalo rango fra tra intervallo tussen interval bereik faixa på mellan mellem
    między w от между в interwał بين في
    """
)
"""Right before ``[1, 5]`` they make it an interval."""

INTERVAL_SIGNS = ("∈", "区间", "區間", "范围", "範圍", "範囲", "区間", "在")
"""The same for signs and for scripts without blanks."""

NO_IDENTIFIERS = _fold(
    """
    iphone iphones ipad ipads ipod ipods imac imacs ios ipados macos tvos watchos icloud itunes
    ebay ebook ebooks email emails mrna trna rrna sirna arxiv cdna
    """
)
"""Names that look like camel case and stand in plain prose."""


def _beginnings(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word[:size] for word in words for size in range(1, len(word) + 1))


SOURCE_BEGINNINGS = _beginnings(SOURCE_WORDS)
CONJUNCTION_BEGINNINGS = _beginnings(CONJUNCTIONS)
TAIL_BEGINNINGS = _beginnings(TAIL_WORDS)
