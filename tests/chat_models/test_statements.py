"""Cutting Markdown into statements that can be quoted alone."""

import time

import pytest

from ai_answers.chat_models.statements import flatten, split_sentences, statements_of
from ai_answers.chat_models.terms import terms_of


def texts(markdown):
    return [statement.text for statement in statements_of(markdown)]


@pytest.mark.parametrize(
    ("line", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Costs 3.50 euros, e.g. Mondays. Fine.", ["Costs 3.50 euros, e.g. Mondays.", "Fine."]),
        ("Dr. Roth kommt am 3. Mai. Gut.", ["Dr. Roth kommt am 3. Mai.", "Gut."]),
        ("Call `a. B()` now. Then rest.", ["Call `a. B()` now.", "Then rest."]),
        ("He said “Go.” She went.", ["He said “Go.”", "She went."]),
        ("周一开放。周二关闭。", ["周一开放。", "周二关闭。"]),
        ("No full stop", ["No full stop"]),
    ],
)
def test_sentences_end_where_a_reader_would_say_so(line, sentences):
    assert split_sentences(line) == sentences


@pytest.mark.parametrize(
    ("inline", "plain"),
    [
        ("**Bold** and *slanted* __too__", "Bold and slanted too"),
        ("See [the page](/p/) and ![a picture](x.png) here", "See the page and here"),
        ("Keep `code_with_*stars*`", "Keep `code_with_*stars*`"),
        ("<b>Tags</b> and <https://example.org/a>", "Tags and example.org/a"),
        ("A claim [12], a name snake_case_name", "A claim (12), a name snake_case_name"),
        ("# not a heading", "not a heading"),
        ("1. not a list", "not a list"),
    ],
)
def test_inline_markdown_becomes_one_harmless_line(inline, plain):
    assert flatten(inline) == plain


def test_headings_are_context_and_never_quoted():
    [statement] = statements_of("# Library\n\n## Opening hours\n\nWe open at nine.")

    assert statement.text == "We open at nine."
    assert statement.headings == ("Library", "Opening hours")


def test_the_heading_path_of_a_chunk_is_complete():
    """A chunk stands under its own path, whatever came before."""
    [first, second] = statements_of("## A › B\n\nOne thing.\n\n## C › D\n\nAnother thing.")

    assert first.headings == ("A", "B")
    assert second.headings == ("C", "D")


def test_table_rows_read_as_sentences_of_their_own():
    table = "| Day | Hours |\n|---|---|\n| Monday | 9 to 17 |\n| Sunday | closed |"
    assert texts(table) == ["Day: Monday; Hours: 9 to 17", "Day: Sunday; Hours: closed"]


def test_short_list_items_keep_what_introduces_them():
    found = texts("You need:\n\n- a pen\n- some paper\n\nThat is all.")

    assert found[:2] == ["You need: a pen", "You need: some paper"]
    assert "You need: a pen; some paper" in found
    assert "That is all." in found
    assert "You need:" not in found  # alone it is half a sentence


def test_code_comes_only_with_the_sentence_before_it():
    text = "Turn it off like this:\n\n    pages = None\n\nDone.\n\n```\nalone = 1\n```"
    [first, second] = statements_of(text)

    assert (first.text, first.code) == ("Turn it off like this:", "pages = None")
    assert (second.text, second.code) == ("Done.", "")


def test_sentences_that_a_chunk_cut_in_half_are_left_out():
    assert texts("and so it ended. We open at nine. The last bus goes at") == ["We open at nine."]


def test_overlapping_chunks_say_a_thing_once():
    assert texts("One thing. Another thing.\n\nAnother thing. A third.") == [
        "One thing.",
        "Another thing.",
        "A third.",
    ]


@pytest.mark.parametrize(
    "text", ["", "\n\n", "---", "# Only", "| a |", "***", "```", "|", "- ", ">"]
)
def test_texts_that_say_nothing_give_nothing(text):
    assert texts(text) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("library", "libraries"),
        ("opening", "opened"),
        ("stopped", "stop"),
        ("Öffnungszeit", "Öffnungszeiten"),
        ("réserver", "reserver"),
        ("entrada", "entradas"),
    ],
)
def test_forms_of_a_word_meet(one, other):
    assert terms_of(one) == terms_of(other)


def test_stop_words_go_and_names_give_their_parts():
    assert terms_of("How do I use the TokenAuthentication?") == [
        "tokenauthentication",
        *terms_of("token authentication"),
    ]
    assert terms_of("wie ist das") == []
    assert terms_of("图书馆") == ["图书", "书馆"]


@pytest.mark.parametrize(
    "unit",
    ["*", "*a ", "_a", "[", "[a](", "![", "`", "` ", "<a", "<!--", "<a.", "|", "-|:", ". ", "a. "]
    + [">", "[1,", "#", " ", "**a*", "。", "周", "aB", "- a\n", "# a\n", "a › ", '[a](b "', "x:\n"],
)
def test_no_text_of_a_page_keeps_the_reader_busy(unit):
    """The pieces are those a hostile page would repeat; time may only grow with length."""
    text = (unit * 12_000)[:24_000]
    begun = time.process_time()
    statements_of(text)
    assert time.process_time() - begun < 2


def test_a_paragraph_in_bold_is_a_heading_and_never_quoted_alone():
    """Small sections share a chunk; their headings stand in it in bold."""
    text = "Any bike.\n\n**Cost of a return**\n\nFour euros.\n\n**Where to return**\n\nThe depot."
    said = [(s.text, s.headings) for s in statements_of(text)]
    assert said == [
        ("Any bike.", ()),
        ("Four euros.", ("Cost of a return",)),
        ("The depot.", ("Where to return",)),
    ]
