"""Answers while they are being written: streamed, stopped, continued, failed."""

from threading import Event

import pytest

from ai_answers.agents.candidates import TRIES

from ..openai_server import status, tool_calls
from .visitor import CARD, CHIP, TURN
from .writing_model import writes

pytestmark = pytest.mark.browser

QUESTION = "How much is a library card?"
CARD_COSTS = "A library card costs **24 euros** a year {Library card}."
TEXT_NODES = """
const walker = document.createTreeWalker(arguments[0], NodeFilter.SHOW_TEXT);
window.settled = [];
while (walker.nextNode()) window.settled.push([walker.currentNode, walker.currentNode.data]);
const [node] = window.settled[0];
getSelection().setBaseAndExtent(node, 2, node, 9);
return window.settled.length;
"""
STILL_THERE = """
return window.settled.every(([node, text]) => arguments[0].contains(node) && node.data === text);
"""

HEIGHT = "return document.querySelector(arguments[0]).getBoundingClientRect().height"
DISTANCE = """
return 2 * parseFloat(getComputedStyle(document.documentElement).fontSize) * parseFloat(
  getComputedStyle(document.documentElement).getPropertyValue("--ai-answers-gap"));
"""
WATCH_DETAIL = """
window.details = [];
const detail = document.querySelector("[data-role=detail]");
new MutationObserver(() => window.details.push(detail.textContent))
  .observe(detail, { childList: true, characterData: true, subtree: true });
"""


@pytest.fixture
def go_on():
    """Holds the model back; set at the end at the latest."""
    event = Event()
    yield event
    event.set()


def test_text_grows_while_the_model_writes_and_settled_text_stays(writing, model, go_on):
    """S95-S96, H12: the same text nodes to the end, and what was selected stays selected."""
    last = Event()
    model.plan(
        writes(
            f"{CARD_COSTS}\n\n- Under 18 it is free.\n- Guests pay 8 euros.\n\nBring ",
            go_on,
            "an identity card.\n\n| Card | Price |\n| --- | --- |\n| Adult | 24 euros |\n",
            last,
            "| Guest | 8 euros |\n\nIt is valid for a year {Library card}.",
        )
    )
    writing.open("/en/ask/")
    writing.ask(QUESTION)
    turn = writing.last_turn()
    writing.until(lambda: "Bring" in writing.answer(turn), "the first paragraphs")

    assert writing.is_busy
    assert writing.status == "Writing the answer…"
    assert writing.see("[data-role=stop]").is_displayed()
    chip = writing.see(CHIP, turn)
    assert chip.get_attribute("data-ref-turn") == "1"
    assert chip.get_attribute("aria-label") == "Source 1: Library card"
    assert writing.leads_to(chip) == ("1", "1")
    so_far = "A library card costs 24 euros a year1.\nUnder 18 it is free.\nGuests pay 8 euros."
    assert writing.answer(turn) == f"{so_far}\nBring"
    answer = writing.see("[data-role=answer]", turn)
    assert writing.script(TEXT_NODES, answer) > 5

    go_on.set()
    writing.until(lambda: "Adult" in writing.answer(turn), "the table")
    assert writing.is_busy
    assert "Guest 8 euros" not in writing.answer(turn)
    # The open paragraph has grown in its own node.
    node, before, after = writing.script(
        "const [node, before] = window.settled.find(([, text]) => text.startsWith('Bring'));"
        "return [node.isConnected, before, node.data];"
    )
    assert node
    assert after.startswith(before)
    assert "identity card" in after
    writing.script("window.settled = window.settled.filter(([, text]) => !/^Bring/.test(text))")
    last.set()
    writing.finished_turn()

    assert writing.answer(turn).endswith("It is valid for a year1.")
    assert writing.script(STILL_THERE, answer)
    assert writing.script("return String(getSelection())") == "library"
    assert writing.status == "Answer complete, 1 source"
    assert not writing.all("[data-role=stop]")[0].is_displayed()
    assert writing.cards() == ["/en/library-card/"]


def test_stop_keeps_the_text_and_ends_the_models_request(writing, model, go_on):
    """What was written stays with its sources, never the no-answer text."""
    model.plan(writes(f"{CARD_COSTS}\n\nUnder 18 ", go_on, "nobody will ever read this."))
    writing.open("/en/ask/")
    writing.ask(QUESTION)
    turn = writing.last_turn()
    writing.until(lambda: "Under 18" in writing.answer(turn), "the second paragraph")
    writing.see("[data-role=stop]").click()
    writing.finished_turn()

    assert model.gone.wait(5)
    assert writing.status == "Stopped"
    assert writing.answer(turn) == "A library card costs 24 euros a year1.\nUnder 18"
    assert writing.cards() == ["/en/library-card/"]
    assert not writing.all("[data-role=error]", turn)[0].is_displayed()
    assert writing.see("[data-role=follow-up]").is_displayed()


def test_a_follow_up_keeps_the_references_and_gives_no_source_a_second_card(writing, model):
    """S103, S106, S108: the chip keeps its own number and leads to the card that is there."""
    search = tool_calls(("search", '{"query": "lost library card"}'))
    model.plan(
        writes(f"{CARD_COSTS} Late items cost 0.30 euros a day {{Fees and charges}}."),
        search,
        writes(
            "Block it at once {I have lost my card. What now?}. "
            "A new one costs 5 euros {Library card}."
        ),
    )
    writing.open("/en/ask/")
    writing.ask("What does a library card cost, and what are the late fees?")
    first = writing.finished_turn()
    assert writing.cards() == ["/en/library-card/", "/en/fees/"]
    addresses = [chip.get_attribute("href") for chip in writing.all(CHIP, first)]
    cards = writing.all(CARD)
    writing.follow_up("And when I have lost it?")
    second = writing.finished_turn(2)

    # Same elements, not only the same addresses: the first turn was not touched.
    assert writing.all(CARD)[:2] == cards
    assert [chip.get_attribute("href") for chip in writing.all(CHIP, first)] == addresses
    assert writing.cards() == ["/en/library-card/", "/en/fees/", "/en/questions/lost-card/"]
    numbers = [writing.see("[data-role=number]", card).text for card in writing.all(CARD)]
    assert numbers == ["1", "2", "3"]  # S105
    lost, again = writing.all(CHIP, second)
    assert [chip.text for chip in (lost, again)] == ["1", "2"]
    assert {chip.get_attribute("data-ref-turn") for chip in (lost, again)} == {"2"}
    assert writing.leads_to(lost) == ("2", "1")
    assert writing.leads_to(again) == ("1", "1")
    again.click()
    assert writing.focused == cards[0]
    assert writing.status == "Answer complete, 2 sources"


def test_a_follow_up_that_fails_spares_the_first_turn_and_may_be_tried_again(writing, model):
    """S103: its sources stay, and the question is asked anew in the same conversation."""
    down = [status(503, headers={"x-should-retry": "false"})] * TRIES
    model.plan(writes(CARD_COSTS), *down, writes("Students pay 12 euros {Library card}."))
    writing.open("/en/ask/")
    writing.ask(QUESTION)
    first = writing.finished_turn()
    text = first.text
    writing.follow_up("And for students?")
    error = writing.see("[data-role=error]", writing.last_turn(2))
    writing.until(lambda: not writing.is_busy, "the end of the stream")
    assert writing.see("[data-role=message]", error).text
    assert first.text == text
    assert writing.cards() == ["/en/library-card/"]

    writing.see("[data-role=retry]", error).click()
    writing.until(lambda: "12 euros" in writing.last_turn(2).text, "the answer")
    second = writing.finished_turn(2)
    assert first.text == text
    assert writing.see("[data-role=question]", second).text == "And for students?"
    assert len(writing.all(TURN)) == 2
    assert writing.cards() == ["/en/library-card/"]
    conversation = model.requests[-1].body["messages"]
    assert QUESTION in [message["content"] for message in conversation]


def test_an_error_that_will_not_pass_offers_no_second_try_and_leaves_no_gap(writing, model):
    model.plan(status(413))
    writing.open("/en/ask/")
    writing.ask(QUESTION)
    error = writing.see("[data-role=error]", writing.last_turn())
    writing.until(lambda: not writing.is_busy, "the end of the stream")

    assert "too long" in writing.see("[data-role=message]", error).text
    assert not writing.all("[data-role=retry]", error)[0].is_displayed()
    assert writing.status == ""
    assert writing.script(HEIGHT, ".ai-answers-progress") == 0
    form = writing.see("[data-role=follow-up]")
    below = form.rect["y"] - (error.rect["y"] + error.rect["height"])
    assert below == pytest.approx(writing.script(DISTANCE), abs=1)


def test_a_search_for_the_question_itself_is_not_said_twice(writing, model, go_on):
    model.plan(writes(go_on, CARD_COSTS))
    writing.open("/en/ask/")
    writing.script(WATCH_DETAIL)
    writing.ask(QUESTION)
    writing.last_turn()
    writing.until(lambda: writing.status == "Reading sources…", "the sources")
    go_on.set()
    writing.finished_turn()

    assert QUESTION not in writing.script("return window.details")


def test_a_search_for_other_words_is_said(writing, model, go_on):
    search = tool_calls(("search", '{"query": "lost library card"}'))
    model.plan(search, writes(go_on, CARD_COSTS))
    writing.open("/en/ask/")
    writing.script(WATCH_DETAIL)
    writing.ask(QUESTION)
    writing.until(
        lambda: "lost library card" in writing.script("return window.details"), "the words"
    )
    go_on.set()
    writing.finished_turn()


def test_a_reload_while_the_model_writes_goes_on_with_the_answer(writing, model, go_on):
    """The run is not the request: the page attaches to it again."""
    model.plan(writes(f"{CARD_COSTS}\n\nUnder 18 ", go_on, "it is free {Library card}."))
    writing.open("/en/ask/")
    writing.ask(QUESTION)
    writing.until(lambda: "Under 18" in writing.answer(writing.last_turn()), "some text")
    writing.driver.refresh()
    turn = writing.last_turn()
    writing.until(lambda: "Under 18" in writing.answer(turn), "the text so far")
    assert writing.is_busy
    go_on.set()
    writing.finished_turn()

    assert writing.answer(turn).endswith("Under 18 it is free1.")
    assert writing.cards() == ["/en/library-card/"]
    assert len(model.requests) == 1


def test_markup_in_an_answer_runs_nothing_and_fetches_nothing(writing, model):
    """Markup in the model's text is text, an image is no image, and a foreign link is none."""
    model.plan(
        writes(
            '<img src=x onerror="window.ran = 1"> <b>bold</b> ![pixel](https://evil.example/p.png) '
            "[here](javascript:window.ran=1) [there](https://evil.example/?q=secret) "
            "and the price {Library card}."
        )
    )
    writing.open("/en/ask/")
    writing.ask(QUESTION)
    turn = writing.finished_turn()

    answer = writing.see("[data-role=answer]", turn)
    assert "<b>bold</b>" in answer.text
    assert not writing.all("img, b, script", answer)
    links = [link.get_attribute("href") for link in writing.all("a[href]", answer)]
    assert [link for link in links if "-ref-" not in link] == []
    assert writing.script("return window.ran") is None
