"""The page under other conditions: a phone, a link from elsewhere, no JavaScript."""

from urllib.parse import quote

import pytest
from selenium.webdriver.common.keys import Keys

from .visitor import CARD, CHIP, TURN
from .writing_model import writes

pytestmark = pytest.mark.browser

PRICE = "How much is a library card?"
WIDE = (
    "See {Library card}: "
    + "Donaudampfschifffahrtsgesellschaftskapitänsbibliotheksausweis" * 3
    + "\n\n| Card | For whom it is meant | What it costs each year | Notes |\n"
    "| --- | --- | --- | --- |\n"
    "| Household card | two adults at the same address | 36 euros a year | none at all |\n\n"
    "```\n" + "a line of code that does not end " * 8 + "\n```\n"
)
TOO_WIDE = """
return [...document.querySelectorAll("main .ai-answers *")]
  .filter((element) => element.getBoundingClientRect().right > 390)
  .filter((element) => !element.parentElement.closest("table, pre"))
  .map((element) => element.outerHTML.slice(0, 120));
"""
DISTANCES = """
const blocks = [...document.querySelectorAll(".answer-column > .ai-answers")];
const boxes = blocks
  .flatMap((block) => (block.localName === "ai-answers-answer" ? [...block.children] : [block]))
  .filter((element) => element.getBoundingClientRect().height)
  .map((element) => element.getBoundingClientRect());
return boxes.slice(1).map(({ top }, i) => top - boxes[i].bottom);
"""
PAGE_WIDTH = "return document.documentElement.scrollWidth"


@pytest.fixture
def phone(writing):
    """A phone, 390 pixels wide."""
    writing.look_through(width=390, height=844, mobile=True)
    return writing


def test_nothing_is_wider_than_a_phone(phone, model):
    """A long word, a table and code: what is wide scrolls in its own box."""
    model.plan(writes(WIDE))
    phone.open("/en/")
    assert phone.script(PAGE_WIDTH) == 390
    phone.ask(PRICE, within=".hero-ask")
    phone.finished_turn()

    assert phone.see(CARD).is_displayed()
    assert phone.script(TOO_WIDE) == []
    assert phone.script(PAGE_WIDTH) == 390


def test_a_tap_on_a_chip_brings_its_card_into_view_on_a_phone(phone, model):
    model.plan(writes(WIDE))
    phone.open("/en/ask/")
    phone.ask(PRICE)
    turn = phone.finished_turn()
    phone.see(CHIP, turn).click()

    card = phone.all(CARD)[0]
    assert phone.focused == card
    in_view = "const { top, bottom } = arguments[0].getBoundingClientRect();"
    in_view += "return top < innerHeight && bottom > 0;"
    phone.until(lambda: phone.script(in_view, card), "the card in view")


def test_a_link_from_elsewhere_fills_the_field_and_does_not_ask(writing, model):
    """D56: a link must not spend money in a visitor's name; Enter asks."""
    model.plan(writes("24 euros {Library card}."))
    writing.open("/en/")
    target = writing.see("ai-answers-question").get_attribute("data-target")
    writing.open("/en/accessibility/")
    writing.open(f"/en/ask/#ai-answers-ask={quote(target)}:{quote(PRICE)}")
    field = writing.see(".header-ask [data-role=field]")
    writing.until(lambda: field.get_attribute("value") == PRICE, "the question in the field")

    assert writing.focused == field
    assert writing.address == "/en/ask/"
    assert writing.all(TURN) == []
    assert model.requests == []
    field.send_keys(Keys.ENTER)
    turn = writing.finished_turn()
    assert writing.see("[data-role=question]", turn).text == PRICE
    assert len(model.requests) == 1


def test_one_distance_lies_between_all_blocks_and_within_them(writing, model):
    """Also where two blocks stand side by side in a page's flow."""
    model.plan(writes("24 euros {Library card}."))
    writing.open("/en/ask/")
    writing.script(
        "const [answer, sources] = ['answer', 'sources']"
        ".map((name) => document.querySelector(`ai-answers-${name}`));"
        "answer.after(document.querySelector('ai-answers-question').cloneNode(true), sources);"
    )
    writing.ask(PRICE)
    writing.finished_turn()

    distances = writing.script(DISTANCES)
    assert len(distances) == 4  # turn, status, follow-up; question; sources
    assert distances == [pytest.approx(distances[0], abs=1)] * 4
    assert distances[0] > 16


@pytest.fixture
def plain(quoting):
    """A tab that runs no script of a page."""
    quoting.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    return quoting


def test_without_javascript_the_form_leads_to_a_page_that_asks_and_answers(plain):
    """The form is a GET without a token, the page it leads to posts; a follow-up goes on."""
    plain.open("/en/")
    plain.all(".header-ask [name=q]")[0].send_keys(PRICE, Keys.ENTER)
    plain.until(lambda: "/ai-answers/ask?" in plain.address, "the page that asks")
    field = plain.all("main [name=q]")[0]
    assert field.get_attribute("value") == PRICE
    assert plain.all(".ai-answers-turn") == []  # a GET asks nothing
    plain.all("main .ai-answers-primary")[0].click()
    plain.until(lambda: plain.all(".ai-answers-turn"), "the answer")

    assert "24 euros" in plain.all(".ai-answers-text")[0].text
    chips = plain.all(".ai-answers-text a[href^='#ai-answers-source-']")
    assert chips
    for chip in chips:
        fragment = chip.get_attribute("href").partition("#")[2]
        card = plain.all(f"#{fragment}.ai-answers-reference")[0]
        assert plain.all("a[href]", card)[0].get_attribute("href").startswith(plain.base_url)
    plain.all("main [name=q]")[0].send_keys("And for students?", Keys.ENTER)
    plain.until(lambda: "students" in plain.all(".ai-answers-turn")[0].text, "the second answer")
    assert "12 euros" in plain.all(".ai-answers-text")[0].text


def test_without_javascript_the_answer_page_says_where_to_ask(plain):
    plain.open("/en/ask/")
    link = plain.all("ai-answers-answer noscript a")[0]
    assert link.is_displayed()
    link.click()
    plain.until(lambda: "/ai-answers/ask?agent=library" in plain.address, "the page that asks")
