"""From a question on any page to an answer with its sources, with the built-in chat model."""

import sqlite3
from contextlib import closing

import pytest
from django.utils import translation
from django.utils.translation import gettext
from selenium.webdriver.common.keys import Keys

from .visitor import CARD, CHIP, TURN

pytestmark = pytest.mark.browser

PRICE = "How much is a library card?"


def test_a_question_in_the_header_leads_to_an_answer_and_the_cards_of_its_sources(quoting):
    """S83-S84, D55-D56: the home page hands over to the answer page, which asks at once."""
    quoting.open("/en/")
    quoting.ask(PRICE)
    turn = quoting.finished_turn()

    assert quoting.address == "/en/ask/"  # no fragment is left to be shared or asked again
    assert quoting.see("[data-role=question]", turn).text == PRICE
    assert "24 euros" in quoting.answer(turn)
    assert "/en/library-card/" in quoting.cards()
    chips = quoting.all(CHIP, turn)
    assert chips
    for chip in chips:
        assert quoting.leads_to(chip) == ("1", chip.get_attribute("data-ref-index"))


def test_a_suggested_question_is_asked_as_it_stands(quoting):
    """D57: a chip of the home page."""
    quoting.open("/en/")
    suggestion = quoting.see(".hero-ask .ai-answers-suggestions button:nth-of-type(2)")
    question = suggestion.text
    suggestion.click()
    turn = quoting.finished_turn()

    assert quoting.see("[data-role=question]", turn).text == question
    assert "11:00" in quoting.answer(turn)


def test_a_question_that_was_taken_leaves_the_field_empty(quoting):
    """D55, D57: it is the heading of the turn now; typed or suggested, once is enough."""
    quoting.open("/en/ask/")
    quoting.ask(PRICE)
    field = quoting.see(".header-ask [data-role=field]")
    quoting.until(lambda: quoting.all(TURN), "the turn")
    assert field.get_attribute("value") == ""
    quoting.finished_turn()
    assert field.get_attribute("placeholder")
    assert field == quoting.focused


def test_a_click_on_a_chip_leads_to_its_card(quoting):
    """S101-S102: to the very item of this turn and number, in view and in focus."""
    quoting.open("/en/ask/")
    quoting.ask(PRICE)
    turn = quoting.finished_turn()
    chip = quoting.all(CHIP, turn)[-1]
    quoting.look_through(width=1280, height=400)  # so that not all is in view anyway
    chip.click()

    card = quoting.focused
    assert card in quoting.all(CARD)
    assert card.get_attribute("data-ref-turn") == "1"
    assert card.get_attribute("data-ref-index") == chip.get_attribute("data-ref-index")
    top, bottom, height = quoting.script(
        "const { top, bottom } = arguments[0].getBoundingClientRect();"
        "return [top, bottom, innerHeight];",
        card,
    )
    assert 0 <= top < bottom <= height


def test_links_of_a_card_open_in_a_new_tab(quoting):
    """S110: the answer stays where it is."""
    quoting.open("/en/ask/")
    quoting.ask(PRICE)
    quoting.finished_turn()
    tabs = len(quoting.driver.window_handles)
    quoting.all(f"{CARD} a[href]")[0].click()
    quoting.until(lambda: len(quoting.driver.window_handles) > tabs, "a new tab")

    answer_tab = quoting.driver.current_window_handle
    quoting.driver.switch_to.window(quoting.driver.window_handles[-1])
    assert quoting.script("return window.opener") is None
    quoting.driver.close()
    quoting.driver.switch_to.window(answer_tab)
    assert quoting.address == "/en/ask/"


def test_a_question_in_the_header_starts_a_new_conversation(quoting):
    """D55, S104: the answer page clears what was asked before, sources too."""
    quoting.open("/en/ask/")
    quoting.ask(PRICE)
    quoting.finished_turn()
    first = quoting.cards()
    quoting.ask("Can I borrow a sewing machine?")
    quoting.until(lambda: "sewing" in quoting.last_turn().text, "the new question")
    turn = quoting.finished_turn()

    assert len(quoting.all(TURN)) == 1
    assert "sewing machine" in quoting.answer(turn)
    assert "/en/library-of-things/" in quoting.cards()
    assert quoting.cards() != first


def test_a_reload_restores_the_conversation(quoting):
    """Both turns with their chips and cards, and it goes on from there."""
    quoting.open("/en/ask/")
    quoting.ask(PRICE)
    quoting.finished_turn()
    quoting.follow_up("And what does a lost card cost?")
    quoting.finished_turn(2)
    before = [turn.text for turn in quoting.all(TURN)], quoting.cards()
    quoting.driver.refresh()
    quoting.finished_turn(2)

    assert ([turn.text for turn in quoting.all(TURN)], quoting.cards()) == before
    for chip in quoting.all(CHIP):
        assert quoting.leads_to(chip)
    quoting.follow_up("When is the Central Library open on Tuesday?")
    assert "10:00" in quoting.answer(quoting.finished_turn(3))


def test_feedback_is_recorded_and_may_be_changed(quoting, database):
    """D33-D35: one vote a visitor, the newest counts, reasons and a comment with it."""
    quoting.open("/en/ask/")
    quoting.ask(PRICE)
    quoting.finished_turn()
    quoting.see("[data-role=positive]").click()
    quoting.until(lambda: quoting.see("[data-role=note]").text == "Thank you", "thanks")
    quoting.driver.refresh()
    quoting.finished_turn()
    assert quoting.see("[data-role=positive]").get_attribute("aria-pressed") == "true"

    quoting.see("[data-role=negative]").click()
    quoting.see("[data-role=reasons] [value=incomplete]").click()
    quoting.see("[data-role=reasons] [name=comment]").send_keys("What about guests?", Keys.ENTER)
    reasons = quoting.all("[data-role=reasons]")[0]
    quoting.until(lambda: not reasons.is_displayed(), "the reasons to be sent")
    quoting.until(lambda: quoting.see("[data-role=note]").text == "Thank you", "thanks")
    quoting.driver.refresh()
    quoting.finished_turn()
    assert quoting.see("[data-role=positive]").get_attribute("aria-pressed") == "false"
    assert quoting.see("[data-role=negative]").get_attribute("aria-pressed") == "true"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        rows = connection.execute(
            "SELECT rating, reasons, comment FROM ai_answers_feedback"
        ).fetchall()
    connection.close()
    assert rows == [("negative", '["incomplete"]', "What about guests?")]


def test_a_german_page_answers_in_a_german_interface(quoting):
    quoting.open("/de/")
    quoting.ask("Was kostet ein Bibliotheksausweis?")
    turn = quoting.finished_turn()

    assert quoting.address == "/de/ask/"
    assert "24 Euro" in quoting.answer(turn)
    assert "/de/library-card/" in quoting.cards()
    with translation.override("de"):
        copy, helpful, source = gettext("Copy"), gettext("Helpful"), gettext("Source")
        ask_again = gettext("Ask a follow-up question")
    assert len({copy, "Copy", helpful, "Helpful", ask_again, "Ask a follow-up question"}) == 6
    assert quoting.see("[data-role=copy]").text == copy
    assert quoting.see("[data-role=positive]").get_attribute("aria-label") == helpful
    field = quoting.see("[data-role=follow-up] [data-role=field]")
    assert field.get_attribute("placeholder") == ask_again
    assert quoting.all(CHIP)[0].get_attribute("aria-label").startswith(f"{source} 1: ")
    assert quoting.status not in ("", "Answer complete, 1 source", "Answer complete, 2 sources")


def test_an_inline_script_is_refused_and_the_console_says_so(quoting):
    """Every test here ends with an empty console; this one shows that it would not stay so."""
    quoting.open("/en/")
    quoting.script(
        "const script = document.createElement('script');"
        "script.textContent = 'window.ran = true';"
        "document.body.append(script);"
    )
    assert quoting.script("return window.ran") is None
    assert any("Content Security Policy" in message for message in quoting.read_console())
