"""Indexing from the admin, without a mouse and in one page: begun, followed and read."""

import pytest
from selenium.webdriver.common.keys import Keys

pytestmark = pytest.mark.browser

SECTION = "[data-index=default]"


def test_the_page_follows_indexing_to_its_end_and_keeps_the_focus(quoting):
    quoting.open("/admin/login/?next=/admin/ai_answers/indexingjob/")
    quoting.see("[name=username]").send_keys("admin")
    quoting.see("[name=password]").send_keys("admin", Keys.ENTER)
    quoting.see(SECTION)
    quoting.tab_to(f"{SECTION} [value=rebuild]").send_keys(Keys.ENTER)
    quoting.see(".messagelist .success")
    quoting.script("window.isTheSamePage = true")
    if stop := quoting.all(f"{SECTION}[data-running] button"):
        assert quoting.see(f"{SECTION} progress").accessible_name == "Progress of default"
        quoting.script("arguments[0].focus()", stop[0])

    quoting.see(f"{SECTION} [value=rebuild]")

    assert "Last rebuild: done" in quoting.see(f"{SECTION} .ai-answers-notice").text
    assert quoting.script("return window.isTheSamePage")
    if stop:
        assert quoting.focused.text == "Index: default"
        said = quoting.all("#content-main > [role=status]")[0].get_attribute("textContent")
        assert said.startswith("default: Last rebuild: done")
    missing = [line for line in quoting.read_console() if "favicon.ico" not in str(line)]
    assert missing == []  # the admin has no icon


@pytest.mark.parametrize("path", ["indexingjob/", "indexeddocument/try/?index=default"])
def test_the_pages_fit_a_phone(quoting, path):
    quoting.look_through(width=390, height=800, mobile=True)
    quoting.open(f"/admin/login/?next=/admin/ai_answers/{path}")
    quoting.see("[name=username]").send_keys("admin")
    quoting.see("[name=password]").send_keys("admin", Keys.ENTER)
    quoting.see("#content-main form")
    assert quoting.script("return document.documentElement.scrollWidth <= innerWidth")
    assert [line for line in quoting.read_console() if "favicon.ico" not in str(line)] == []
