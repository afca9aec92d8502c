import pytest

from ai_answers.retrieval.words import is_in_languages, query_words, words_of


def forms(query, languages=("en",), asker="en"):
    return [word.forms for word in query_words(query, languages, asker)]


def test_words_are_cut_to_stems_of_their_language_without_accents():
    assert words_of("The opening hours", "en") == ["the", "open", "hour"]
    assert words_of("Die Öffnungszeiten", "de-at") == ["die", "offnungszeit"]
    assert words_of("Déjà vu", "xx") == ["deja", "vu"]


def test_names_give_themselves_and_their_parts():
    assert words_of("DEFAULT_PAGE", "") == ["defaultpage", "default", "page"]
    assert words_of("TokenAuth", "") == ["tokenauth", "token", "auth"]
    assert words_of("HTTP_428_GONE", "") == ["http428gone", "http", "428", "gone"]


def test_scripts_without_spaces_give_pairs():
    assert words_of("图书馆开放", "zh") == ["图书", "书馆", "馆开", "开放"]
    assert words_of("A图B", "zh") == ["a", "图", "b"]


def test_stop_words_go_by_the_language_of_the_question_not_of_the_page():
    assert forms("How can I pay a fee?", asker="de") == [("pay",), ("fee",)]
    assert forms("Wie kann ich zahlen?", ("de",), "en") == [("zahl",)]


def test_a_question_of_nothing_but_stop_words_keeps_them():
    assert forms("who are you") == [("who",), ("are",), ("you",)]


def test_each_word_stands_in_its_form_for_each_indexed_language():
    assert forms("Häuser", ("en", "de", "de-at"), "de") == [("hauser", "haus")]


def test_only_letters_and_digits_come_out():
    nasty = "a\"b' (c) * d:e NEAR/2 -f {g} ^h \x00 i\u202ej"
    assert all(word.isalnum() for word in words_of(nasty, "en"))


def test_a_query_is_cut_to_a_bounded_number_of_words():
    assert len(query_words(" ".join(f"word{n}" for n in range(500)), ["en"], "en")) == 64


@pytest.mark.parametrize(
    ("query", "languages", "may"),
    [
        ("wie geht das mit dem", ["en"], False),
        ("how is this", ["en-gb"], True),
        ("pagnation", ["en"], True),
        ("wie geht das", [""], True),
    ],
)
def test_a_query_in_a_language_not_indexed_is_recognised(query, languages, may):
    assert is_in_languages(query, languages, "") is may
