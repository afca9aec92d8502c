"""Everything without a mouse."""

import pytest
from selenium.webdriver.common.keys import Keys

from .visitor import CARD, CHIP

pytestmark = pytest.mark.browser

IS_OPEN = "return document.querySelector('[data-role=preview]').matches(':popover-open')"
OUTLINE = """
const { outlineStyle, outlineWidth } = getComputedStyle(arguments[0]);
return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
"""


def test_the_keyboard_alone_asks_reads_and_reaches_the_sources(quoting):
    """H04, H05: chips are reached and named, show a preview that Esc closes, lead to cards."""
    quoting.open("/en/")
    field = quoting.tab_to(".header-ask [data-role=field]", at_most=6)
    assert field.get_attribute("aria-label") == "Your question"
    quoting.press("How much is a library card?", Keys.ENTER)
    turn = quoting.finished_turn()

    chip = quoting.tab_to(CHIP)
    assert chip == quoting.all(CHIP, turn)[0]
    assert chip.accessible_name == "Source 1: Library card"
    assert quoting.script(OUTLINE, chip)
    size = chip.rect
    assert size["width"] >= 24
    assert size["height"] >= 24
    quoting.until(lambda: quoting.script(IS_OPEN), "the preview")
    assert "Library card" in quoting.see("[data-role=preview]").text

    quoting.press(Keys.ESCAPE)
    quoting.until(lambda: not quoting.script(IS_OPEN), "the preview to close")
    assert quoting.focused == chip
    quoting.press(Keys.ENTER)
    assert quoting.focused == quoting.all(CARD)[0]
    quoting.tab_to(f"{CARD} a[href]", at_most=2)


def test_the_keyboard_alone_votes_and_asks_on(quoting):
    quoting.open("/en/ask/")
    quoting.tab_to(".header-ask [data-role=field]", at_most=6)
    quoting.press("How much is a library card?", Keys.ENTER)
    quoting.finished_turn()
    quoting.tab_to("[data-role=positive]").send_keys(Keys.SPACE)
    quoting.until(lambda: quoting.see("[data-role=note]").text == "Thank you", "thanks")
    quoting.tab_to("[data-role=follow-up] [data-role=field]", at_most=8)
    quoting.press("And for students?", Keys.ENTER)
    turn = quoting.finished_turn(2)

    assert "12 euros" in quoting.answer(turn)
