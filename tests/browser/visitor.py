"""A visitor before a browser: opens pages, reads, types and clicks, and waits for what must come.

In: a driver and the address of a site. Nothing sleeps; a condition that never comes fails with
what was waited for and what the page shows instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from selenium.common.exceptions import StaleElementReferenceException, TimeoutException
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

PATIENCE_SECONDS = 20
CHIP = "a[data-ref-index]"
TURN = "[data-role=transcript] [data-role=turn]"
CARD = ".sources-column [data-role=list] > [data-ref-index]"

LEADS_TO = """
const target = document.querySelector(arguments[0].getAttribute("href"));
return target && [target.dataset.refTurn, target.dataset.refIndex];
"""


class Visitor:
    """One tab on one site."""

    def __init__(self, driver: WebDriver, base_url: str) -> None:
        self.driver = driver
        self.base_url = base_url

    def open(self, path: str) -> None:
        self.driver.get(self.base_url + path)

    def look_through(self, *, width: int, height: int, mobile: bool = False) -> None:
        """Give this tab a screen of that size, in CSS pixels."""
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)

    @property
    def address(self) -> str:
        """Path, query and fragment of the page."""
        return self.driver.current_url.removeprefix(self.base_url)

    def all(self, selector: str, within: WebElement | None = None) -> list[WebElement]:
        return (within or self.driver).find_elements("css selector", selector)

    def see(self, selector: str, within: WebElement | None = None) -> WebElement:
        """Wait for the first that is displayed."""

        def shown() -> list[WebElement]:
            return [found for found in self.all(selector, within) if found.is_displayed()]

        return self.until(shown, f"{selector!r} to be seen")[0]

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        """Wait until ``condition`` holds and return what it returned."""
        wait = WebDriverWait(
            self.driver,
            PATIENCE_SECONDS,
            poll_frequency=0.05,
            ignored_exceptions=[StaleElementReferenceException],
        )
        try:
            return wait.until(lambda _: condition())
        except TimeoutException:
            shown = self.script("return document.querySelector('main, body')?.innerText")
            raise AssertionError(f"Waited in vain for {what}. The page shows:\n{shown}") from None

    def script(self, body: str, *arguments: Any) -> Any:
        return self.driver.execute_script(body, *arguments)

    def press(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()

    def tab_to(self, selector: str, *, at_most: int = 60) -> WebElement:
        """Press Tab until the focus is on what ``selector`` finds."""
        for _ in range(at_most):
            self.press(Keys.TAB)
            if self.focused.tag_name != "body" and self.script(
                "return document.activeElement.matches(arguments[0])", selector
            ):
                return self.focused
        raise AssertionError(f"{selector!r} was not reached by pressing Tab {at_most!r} times.")

    def read_console(self) -> list[str]:
        """Return what the console said since it was last read: errors, violations, notes."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    @property
    def focused(self) -> WebElement:
        return self.driver.switch_to.active_element

    # The site

    def ask(self, question: str, within: str = ".header-ask") -> None:
        """Ask in the header, or in the block that ``within`` finds."""
        field = self.see(f"{within} [data-role=field]")
        field.clear()
        field.send_keys(question, Keys.ENTER)

    def follow_up(self, question: str) -> None:
        self.ask(question, within="[data-role=follow-up]")

    def last_turn(self, number: int = 1) -> WebElement:
        """Wait for the turn with this number and return it."""
        turns = self.until(lambda: self.all(TURN)[number - 1 :], f"turn {number!r}")
        return turns[0]

    def finished_turn(self, number: int = 1) -> WebElement:
        """Wait until the turn with this number is answered to its end, and return it."""
        turn = self.last_turn(number)
        self.until(lambda: self.all("[data-role=actions]", turn)[0].is_displayed(), "the end")
        self.until(lambda: not self.is_busy, "the end of the stream")
        return turn

    @property
    def is_busy(self) -> bool:
        return self.see("[data-role=transcript]").get_attribute("aria-busy") == "true"

    @property
    def status(self) -> str:
        """The line that is read out."""
        return self.script("return document.querySelector('[data-role=status]').textContent.trim()")

    def answer(self, turn: WebElement) -> str:
        """The answer's text, without the joiner that glues a chip to the word before it."""
        return self.all("[data-role=answer]", turn)[0].text.replace("\N{WORD JOINER}", "")

    def cards(self) -> list[str]:
        """Paths of the sources at the side, in order."""
        links = [self.all("a[href]", card)[0] for card in self.all(CARD)]
        return [urlsplit(link.get_attribute("href")).path for link in links]

    def leads_to(self, chip: WebElement) -> tuple[str, str] | None:
        """Turn and index of the card that the chip's address names."""
        found = self.script(LEADS_TO, chip)
        return found and tuple(found)
