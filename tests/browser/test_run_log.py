"""Why did it say that? From an answer on the site to its page in the admin."""

import pytest
from selenium.webdriver.common.keys import Keys

pytestmark = pytest.mark.browser

FITS = "return document.documentElement.scrollWidth <= innerWidth"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_run_is_found_and_fits(quoting, width, scheme):
    quoting.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    quoting.open("/")
    quoting.ask("When is the harbour branch open?")
    quoting.finished_turn()
    quoting.look_through(width=width, height=900, mobile=width < 500)
    quoting.open("/admin/login/?next=/admin/ai_answers/runlog/")
    quoting.see("[name=username]").send_keys("admin")
    quoting.see("[name=password]").send_keys("admin", Keys.ENTER)
    quoting.see("#result_list")
    assert quoting.script(FITS)
    quoting.see("#result_list tbody th a").click()

    short = quoting.see("[aria-labelledby=ai-answers-log-short]")
    assert "It searched once" in short.text
    assert "harbour branch" in quoting.see("[aria-labelledby=ai-answers-log-said]").text
    for summary in quoting.all(".ai-answers-log summary"):
        quoting.script("arguments[0].parentElement.open = true", summary)
    assert quoting.script(FITS)
    missing = [line for line in quoting.read_console() if "favicon.ico" not in str(line)]
    assert missing == []  # the admin has no icon
