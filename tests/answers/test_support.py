"""Sentences of an answer against the passages they cite (G12, G19)."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_answers.answers.support import check_support
from ai_answers.answers.support.claims import claims_of
from ai_answers.values import Chunk, ObjectKey, Source

PASSAGE = (
    "Parcels leave the depot on Friday at six. The gate opens at 5 pm. A parcel costs 4,50 euros "
    "and 85 % arrive by 6 March 2026. Anna Berger leads the depot, called DepotOne. It holds "
    "1,500 parcels on 7 floors. Since 12.01.2024 the lift of type B12 works."
)


def source(text=PASSAGE, language="en", number=1, title="Depot times"):
    key = ObjectKey("site.page", str(number))
    chunk = Chunk(id=None, key=key, language=language, position=0, text=text, title=title, url="/")
    return Source(number=number, key=key, title=title, url="/", language=language, chunks=(chunk,))


def judged(answer, *sources):
    sources = sources or (source(),)
    support = check_support(answer, {s.number: s for s in sources})
    return [(row.verdict, list(row.missing)) for row in support.judgements]


@pytest.mark.parametrize(
    "sentence",
    [
        "Parcels leave on Friday at six",
        "On Fridays the parcels leave the depot at 18:00",
        "On Fridays parcels leave at 6 p.m",
        "The gate opens at 17:00",
        "The gate opens at 5 p.m",
        "85% arrive by March 6, 2026",
        "85 % arrive by 2026-03-06",
        "A parcel costs 4.50 euros",
        "It holds 1500 parcels",
        "It holds 1.500 parcels on seven floors",
        "It holds 1 500 parcels",
        "The depot is led by Anna Berger",
        "Anna Berger's depot is called DepotOne",
        "The lift B12 works since January 12, 2024",
        "The depot has two gates, called one thing: the gate that opens at 5 pm",
        "What it costs: 4,50 euros a parcel",
    ],
)
def test_a_sentence_that_says_what_its_passage_says_is_supported(sentence):
    """Numbers, times and dates may be written otherwise."""
    assert judged(f"{sentence}[1].") == [("supported", [])]


@pytest.mark.parametrize(
    ("sentence", "missing"),
    [
        ("Parcels leave on Saturday at six", ["Saturday"]),
        ("Parcels leave on Friday at seven in the morning, at 8:15", ["8:15"]),
        ("The gate opens at 4 pm", ["4 pm."]),
        ("87 % arrive by 6 March 2026", ["87"]),
        ("85 % arrive by 6 April 2026", ["April"]),
        ("85 % arrive by 2027-03-06", ["2027-03-06"]),
        ("A parcel costs 4.60 euros", ["4.60"]),
        ("It holds 15,000 parcels", ["15,000"]),
        ("The depot is led by Otto Berger", ["Otto"]),
        ("The depot is called DepotTwo", ["DepotTwo"]),
        ("The lift of type B13 works", ["B13"]),
        ("The depot holds eight floors of parcels", ["eight"]),
    ],
)
def test_a_number_a_date_or_a_name_that_is_not_there_is_named(sentence, missing):
    """G19."""
    assert judged(f"{sentence}[1].") == [("unsupported", missing)]


def test_other_words_are_no_support():
    """G12: citing a page for everything."""
    assert judged("Cats like to sleep in warm places all day[1].") == [("unsupported", [])]


def test_what_one_of_several_sources_says_is_supported():
    other = source("Insurance costs 9 euros more.", number=2, title="Fees")
    answer = "A parcel costs 4.50 euros, insurance 9 euros more[1][2]. Insurance costs 9 euros[1]."
    assert judged(answer, source(), other) == [("supported", []), ("unsupported", ["9"])]


def test_the_title_and_headings_of_a_page_count():
    assert judged("The Depot times say Friday[1].") == [("supported", [])]


def test_a_sentence_that_cites_nothing_or_nothing_known_is_not_judged():
    assert judged("Parcels leave on Monday. On Monday[7].") == [
        ("uncited", []),
        ("unchecked", []),
    ]


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("Pakete verlassen das Depot am Freitag um sechs[1].", "supported"),
        ("Pakete verlassen das Depot am Samstag[1].", "unsupported"),
        ("85 % kommen bis zum 6. März 2026 an[1].", "supported"),
        ("85 % kommen bis zum 6. April 2026 an[1].", "unsupported"),
        ("Das Tor ist ein schönes Tor[1].", "unchecked"),
        ("仓库有1500个包裹[1]。", "supported"),
        ("仓库有1600个包裹[1]。", "unsupported"),
        ("仓库很大[1]。", "unchecked"),
    ],
)
def test_another_language_than_the_sources_is_judged_by_facts_alone(answer, verdict):
    assert [row[0] for row in judged(answer)] == [verdict]


def test_german_nouns_are_no_names_but_full_names_are():
    text = "Das Depot öffnet am Freitag um sechs das Tor. Anna Berger führt das Depot mit Umsicht."
    page = source(text, "de")
    said = "Am Freitag um sechs öffnet das Depot die Pforte[1]. Das Depot führt {}[1]."
    assert judged(said.format("Anna Berger"), page) == [("supported", [])] * 2
    assert judged(said.format("Otto Berger"), page)[1] == ("unsupported", ["Otto"])


def test_the_whole_is_what_its_sentences_are():
    def whole(answer):
        return check_support(answer, {1: source()}).verdict

    good, bad = "Parcels leave on Friday[1].", "Parcels leave on Monday[1]."
    assert whole(good) == "supported" and whole(bad) == "unsupported"
    assert whole(f"{good} {bad}") == "partly" and whole("Nothing cited.") == "uncited"
    assert whole("仓库很大[1]。") == "unchecked"


def test_a_quote_is_the_sentence_that_supports_and_of_two_at_most():
    """G03."""
    support = check_support(
        "The gate opens at 17:00[1]. It holds 1500 parcels[1]. Anna Berger leads it[1].",
        {1: source()},
    )
    assert support.quotes == {1: "The gate opens at 5 pm. … It holds 1,500 parcels on 7 floors."}


def test_nothing_is_quoted_for_what_is_not_supported():
    assert check_support("The gate opens at 4 pm[1].", {1: source()}).quotes == {}


@pytest.mark.parametrize(
    ("answer", "claims"),
    [
        ("Six[1]. Five.[2] Four[1][2]!", [("Six.", (1,)), ("Five.", (2,)), ("Four!", (1, 2))]),
        ("It is 4.50, e.g. for two[1]. End", [("It is 4.50, e.g. for two.", (1,)), ("End", ())]),
        ("# Fees[1]\n\n- four[1]\n- five[2]", [("four", (1,)), ("five", (2,))]),
        ("| a | b |\n|---|---|\n| x[1] | 5 |", [("x 5", (1,))]),
        ("```\nx[1]\n```\nDone[2].", [("Done.", (2,))]),
        ("> said **so**[1]\n> and more[2]", [("said so and more", (1, 2))]),
        ("Dated \\[2024\\][1].", [("Dated (2024).", (1,))]),
        ("五点[1]。六点[2]。", [("五点。", (1,)), ("六点。", (2,))]),
        ("[1]\n\n---\n", []),
        ("Title\n===\nText[1]", [("Text", (1,))]),
        ("\ue001 Six[2]", [("Six", (2,))]),
        ("", []),
    ],
)
def test_an_answer_is_cut_into_what_it_claims(answer, claims):
    assert [(claim.text, claim.indexes) for claim in claims_of(answer)] == claims


WORDS = """
Parcels leave on Friday at six 6 18:00 4,50 1.2.3 2026-13-45 [1] [2] . ! | - # ` $ März May ٣ 五 É
a_b B12 ½ ² 99999999999999999999999 : 1:2:3 0 00 Uhr 18h
"""
words = st.sampled_from([*WORDS.split(), "\n", "\n\n", "\ud83d", "\u202e"])


@settings(max_examples=150)
@given(st.lists(words, max_size=40).map(" ".join), st.lists(words, max_size=40).map(" ".join))
def test_any_text_is_judged(answer, passage):
    """Whatever a model and a page write, there is a verdict on each claim."""
    support = check_support(answer, {1: source(passage), 2: source(passage, "", number=2)})
    assert len(support.judgements) == len(claims_of(answer))
    assert support.as_dict()["verdict"]


@settings(max_examples=100)
@given(st.lists(st.sampled_from(PASSAGE.replace("Since", "From").split(". ")), min_size=1))
def test_what_is_copied_is_always_supported(sentences):
    answer = " ".join(f"{sentence.rstrip('.')}[1]." for sentence in sentences)
    assert {verdict for verdict, _ in judged(answer)} == {"supported"}


def test_time_grows_with_the_length_and_no_faster():
    """It runs on a thread that others wait for."""
    units = (
        "Anna ",
        "1 ",
        "1.",
        "1,",
        "a[1]. ",
        "A",
        "18:",
        "- x\n",
        "| a ",
        "1.1.20 ",
        "Uhr ",
        "`",
    )
    for unit in units:
        took = []
        for length in (6_000, 18_000):
            answer = (unit * length)[:length] + " [1]"
            began = time.process_time()
            check_support(answer, {1: source((unit * length)[:length])})
            took.append(time.process_time() - began + 0.02)
        assert took[1] / took[0] < 6, (unit, took)
