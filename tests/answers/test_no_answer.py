"""Answers that say that there is none, and answers that only look so (G18, D47)."""

import time

import pytest

from ai_answers.answers.no_answer import says_none


@pytest.mark.parametrize(
    "answer",
    [
        "I could not find this.",
        "I could not find this in the sources[1].",
        "I couldn’t find any information about Sunday opening[1][2]. Please contact the office.",
        "The sources do not say when the gate closes[1].",
        "Unfortunately, the provided sources don't mention parking.",
        "There is no information about parking in the sources[2].",
        "I'm sorry, but I could not find an answer to that[1].",
        "None of the sources mentions a discount[1].",
        "Sorry, I don't know.",
        "I found nothing about this on our pages.",
        "Dazu habe ich in den Quellen nichts gefunden[1].",
        "Die Quellen enthalten keine Angaben zu Parkplätzen[1].",
        "Ich konnte dazu leider keine Informationen finden.",
        "Leider konnte ich dazu nichts finden.",
        "Das geht nicht aus den Quellen hervor[2].",
        "Darüber steht auf unseren Seiten nichts.",
        "Je n'ai pas trouvé cette information dans les sources[1].",
        "Les sources ne mentionnent pas les horaires[1].",
        "Aucune information n'est disponible.",
        "No encontré información sobre esto[1].",
        "Las fuentes no mencionan el precio.",
        "Non ho trovato informazioni su questo[1].",
        "Não encontrei essa informação nas fontes[1].",
        "Ik kon dit niet vinden in de bronnen[1].",
        "De bronnen vermelden dit niet.",
        "Не удалось найти это[1].",
        "在来源中没有找到相关信息[1]。",
        "情報は見つかりません。",
        "Our pages say nothing about it.",
    ],
)
def test_it_says_that_there_is_none(answer):
    assert says_none(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "Parcels leave on Friday at six[1].",
        "I could not find Sunday times, but on weekdays the gate opens at five[1].",
        "The sources do not mention Sunday. On weekdays it opens at five[1].",
        "The gate opens at five[1]. I could not find when it closes.",
        "Parcels do not contain liquids[1].",
        "You cannot find parcels older than a week in the depot[1].",
        "The package does not provide caching[1].",
        "Das Paket enthält keine Batterien[1].",
        "Members do not pay fees[1].",
        "There is no fee for members[1].",
        "No parking is available on Sundays[1].",
        "Es gibt keine Parkplätze[1].",
        "Die Seite kann man nicht ändern[1].",
        "We do not have a branch in Graz[1].",
        "The page does not include the footer in print[1].",
        "No, pages are not cached[1].",
        "Les pages ne sont pas imprimées[1].",
        "Documents are not available on Sundays[1].",
        "",
        "I could not find this. " + "It opens at five[1]. " * 9,
        "I could not find it. " + "Other text. " * 300,
    ],
)
def test_it_says_something(answer):
    assert not says_none(answer)


def test_it_takes_no_time_whatever_is_written():
    for unit in ("the sources ", "i ", "no source ", "[1]", "not ", "keine "):
        began = time.process_time()
        says_none((unit * 3000)[:2990])
        assert time.process_time() - began < 0.5
