"""Words that say nothing about what is asked, by language.

Dropped from queries, kept in the index. Closed classes only: articles, pronouns, prepositions,
conjunctions, auxiliary verbs, question words. Languages not listed here lose nothing but speed:
a word that most chunks hold weighs next to nothing anyway.
"""

from __future__ import annotations

import unicodedata


def _words(text: str) -> frozenset[str]:
    """Also without accents, as people type them."""
    given = text.split()
    plain = (
        "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
        for word in given
    )
    return frozenset([*given, *plain])


STOP_WORDS: dict[str, frozenset[str]] = {
    "en": _words("""
        a about above after again against all also am an and any are aren as at be because been
        before being below between both but by can cannot could couldn d did didn do does doesn
        doing don done down during each either else ever few for from further get gets getting
        got had hadn has hasn have haven having he her here hers herself him himself his how i if
        in into is isn it its itself just let ll m may me might more most much must my myself no
        nor not now of off on once one only or other ought our ours out over own please re s same
        shall she should shouldn so some such t than that the their them themselves then there
        these they this those through to too under until up upon us ve very was wasn we were
        weren what when where which while who whom whose why will with without won would wouldn
        you your yours yourself"""),
    "de": _words("""
        ab aber alle allem allen aller alles als also am an andere anderen anderer anderes auch
        auf aus bei beim bin bis bist bitte da dabei dadurch dafür damit dann daran darauf daraus
        darf dass das dazu dein deine dem den denen denn der deren des dessen dich die dies diese
        diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es
        etwas euch euer eure für gegen gibt hab habe haben hat hatte hatten hier hinter ich ihm
        ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes jene
        jetzt kann kannst können könnte man mehr mein meine meinem meinen meiner mich mir mit muss
        müssen nach nicht noch nun nur ob oder ohne sehr sein seine seinem seinen seiner seit sich
        sie sind so solche soll sollen sollte sondern über um und uns unser unsere unter vom von
        vor wann war waren warum was weil welche welchem welchen welcher welches wenn wer werde
        werden wie wieder will wir wird wo wohin wollen worden wurde wurden während zu zum zur
        zwischen"""),
    "fr": _words("""
        a ai ait alors après as au aucun aucune aussi autre autres aux avait avant avec avez avoir
        avons bien c ça ce ceci cela celle celles celui ces cet cette ceux chaque chez ci comme
        comment d dans de depuis des dès deux dois doit donc du elle elles en entre est et étaient
        était étant été être eu eux fait faire faut fois font hors il ils j je jusqu l la là le
        les leur leurs lors lorsque lui m ma mais me mêmes même mes moi moins mon n ne ni nos notre
        nous on ont ou où par parce pas peu peut peuvent peux plus pour pourquoi pouvez puis qu
        quand que quel quelle quelles quels qui quoi s sa sans se sera serait ses si son sont sous
        suis sur t ta tandis te tes toi ton tous tout toute toutes très tu un une vers vos votre
        vous y"""),
    "es": _words("""
        a al algo algún alguna algunas alguno algunos ante antes aquel aquella así aunque bajo
        bien cada como cómo con contra cual cuál cuales cuáles cuando cuándo cuánto de debe debo
        del desde donde dónde dos durante e el él ella ellas ellos en entre era eran es esa esas
        ese eso esos está están estaba estamos estar estas este esto estos estoy fue fueron ha
        haber había hace hacer hacia han has hasta hay he la las le les lo los más me mi mía
        mientras mis mismo mucho muy nada ni no nos nosotros nuestra nuestro o os otra otras otro
        otros para pero poco por porque pues puede pueden puedo que qué quien quién quienes se sea
        según ser
        sería si sí sido sin sobre sois solo sólo son su sus también tan tanto te tengo ti tiene
        tienen toda todas todo todos tras tu tú tus un una unas uno unos usted ustedes y ya yo"""),
    "it": _words("""
        a abbia ad agli ai al alla alle allo anche ancora avere aveva c che chi ci ciò coi col come
        con contro cosa così cui da dagli dai dal dalla dalle dallo degli dei del dell della delle
        dello dentro deve devo di dopo dove due durante e è ed era erano essere fa far fare fino
        fra già gli ha hai hanno ho i il in io l la là le lei li lo loro lui ma me meno mi mia mie
        miei mio molto ne nei negli nel nell nella nelle nello no noi non nostra nostro o od ogni
        oltre ora per perché però più po poi possiamo posso possono prima può qual quale quali
        quando quanti quanto quella quelle quelli quello questa queste questi questo qui s se sé
        sei senza si sia siamo siete sono sopra sotto sta stata stati stato su sua sue sugli sui
        sul sulla sulle suo suoi t ti tra tu tua tue tuo tutte tutti tutto un una uno vi voi"""),
    "nl": _words("""
        aan al alle alleen als altijd andere ben bij binnen dan dat de den der deze die dit doe
        doen door dus een eens en er ga geen geweest haar had hadden heb hebben heeft hem het hier
        hij hoe hun ik in is ja je jij jou jouw jullie kan kon kunnen kunt maar mag me meer men met
        mij mijn moet moeten na naar niet niets nog nu of om omdat onder ons onze ook op over te
        tegen toch toen tot tussen u uit uw van veel voor waar waarom wanneer want waren was wat
        we wel welk welke werd wie wij wil worden wordt zal ze zei zich zij zijn zo zonder zou"""),
    "pt": _words("""
        a à ainda além algum alguma alguns antes ao aos após aquela aquele aquilo as às assim até
        cada com como contra da dar das de dela dele deles depois desde dessa desse desta deste
        deve devo disso do dois dos duas durante e é ela elas ele eles em enquanto entre era eram
        essa essas esse esses esta está estamos estão estar estas este estes estou eu faz fazer foi
        foram há isso isto já la lhe lo mais mas me mesmo meu meus mim minha minhas muito na nas
        não nem nenhum no nos nós nossa nosso num numa o onde os ou outra outras outro outros para
        pela pelas pelo pelos pode podem por porque porquê posso pouco pra qual quais quando quanto
        que quê quem se seja sem sempre ser será seu seus si sido só sob sobre sua suas são também
        tão te tem têm tenho ter teu tinha toda todas todo todos tu tua um uma umas uns você vocês
        vos"""),
    "sv": _words("""
        alla allt än andra är åt att av bara blev bli blir både då där de dem den denna deras dess
        dessa det detta dig din dina dit ditt du efter ej eller en er era ett finns för från får
        genom ha hade han hans har henne hennes här hon honom hur i icke in ingen inom inte ja jag
        kan kunde man med mellan men mer mig min mina mitt mot mycket måste ni nu när någon något
        några och om oss på sedan sig sin sina sitt ska skall som så till under upp ut utan vad
        var varför varit vara vem vi vid vilka vilken vilket vill över"""),
    "da": _words("""
        af alle alt anden at blev blive bliver da de den denne der deres det dette dig din disse
        dog du efter eller en end er et for fra få går ha han hans har havde hende hendes her hos
        hun hvad hvem hvis hvor hvordan hvorfor hvornår i ikke ind ja jeg jer kan kunne man mange
        med meget men mig min mod må ned nogen noget nogle nu når og også om op os over på sig sin
        skal skulle som sådan til ud under var ved vi vil ville være været"""),
    "pl": _words("""
        a aby ale albo by być był była było były bez bo będzie będą co czy czym dla do gdy gdzie go
        i ich ile im ja jak jaka jakie jaki jako je jego jej jest jestem jeszcze jeśli już każdy
        kiedy kto która które którego której który którzy lub ma mam mi może można mnie mogę na nad
        nam nas nasz nie nim niż o od on ona one oni ono oraz po pod przed przez przy są się skąd
        swoje ta tak także tam te tego tej ten też to tu tylko tym u w we więc z za że żeby"""),
    "ru": _words("""
        а без более бы был была были было быть в вам вас весь во вот все всё всех вы где да даже
        для до его её если есть ещё же за здесь и из или им их к как какая какие какой ко когда
        кто ли либо меня мне может можно мой мы на над надо нам нас наш не него неё нет ни них но
        ну о об однако он она они оно от по под при про с сам свой себя со так также там те тем то
        того тоже той только том тот ты у уже хотя чего чем что чтобы эта эти это этого этой этот
        я"""),
    "ar": _words("""
        في من على إلى الى عن مع هذا هذه ذلك تلك التي الذي الذين ما ماذا متى أين اين كيف كم لماذا هل
        هو هي هم هن أنا انا نحن أنت انت كان كانت يكون تكون قد لا لم لن أو او و ثم أن ان إن إذا اذا
        كل بعض بعد قبل بين حتى عند منذ غير أي اي لكن كما أيضا ايضا فيه فيها به بها له لها منه منها
        عليه عليها من"""),
}  # fmt: skip
