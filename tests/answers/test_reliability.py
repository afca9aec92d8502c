"""What an agent may ask of its answers: strict, grounded, compared with their sources."""

from __future__ import annotations

import time

import pytest

from ai_answers.chat_models.scripted import Reply, call, say, scripted
from ai_answers.models import Agent, Run, Turn
from tests.api.conftest import Api
from tests.content import make_agent, make_pages
from tests.site.models import Article
from tests.sse import frames_of

pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = "When do parcels leave?"
NOTHING = "Xyzzy qwv?"
MESSAGE = "Nothing on our pages, sorry."
both_paths = pytest.mark.parametrize("stream", [True, False], ids=["stream", "json"])


@pytest.fixture
def visitor():
    make_pages()
    make_agent(no_answer_message=MESSAGE)
    return Api()


def ask(visitor, question=QUESTION, *, stream=False, **fields):
    """Return what the visitor gets in the end: text, references, outcome, support."""
    response = visitor.ask(question, stream=stream, **fields)
    if stream:
        return frames_of(response)[-1].data
    body = response.json()
    return {**body, **body["answer"]}


# Strict


@both_paths
def test_a_strict_agent_asks_no_model_when_nothing_was_found(visitor, stream):
    """S31: the message is the answer, nothing is spent, and the run's signals say no_answer."""
    from ai_answers.signals import agent_finished, light

    heard = []

    @light
    def hear(sender, outcome, usage, **named):
        heard.append((outcome, usage.total_tokens))

    Agent.objects.update(strict=True)
    agent_finished.connect(hear)
    try:
        with scripted() as script:
            end = ask(visitor, NOTHING, stream=stream)
    finally:
        agent_finished.disconnect(hear)
    assert (end["text"], end["references"], end["outcome"]) == (MESSAGE, [], "no_answer")
    assert script.requests == [] and heard == [("no_answer", 0)]
    assert end["usage"]["total_tokens"] == 0


def test_a_strict_agent_answers_from_what_was_found(visitor):
    Agent.objects.update(strict=True)
    with scripted(say("On Friday [1].")):
        assert ask(visitor)["outcome"] == "answered"


def test_a_strict_agent_searches_a_follow_up_that_holds_no_source(visitor):
    """S28: what is held counts as found; without it the question is searched for."""
    Agent.objects.update(strict=True)
    with scripted(say("On Friday [1]."), say("At six [1].")) as script:
        first = ask(visitor)
        again = ask(visitor, "And then?", conversation_id=first["conversation_id"])
    assert again["outcome"] == "answered" and len(script.requests) == 2
    Turn.objects.update(sources=[])
    with scripted() as script:
        none = ask(visitor, NOTHING, conversation_id=first["conversation_id"])
    assert none["outcome"] == "no_answer" and script.requests == []
    with scripted(say("Four euros [1].")):
        found = ask(visitor, "What does a parcel cost?", conversation_id=first["conversation_id"])
    assert found["outcome"] == "answered" and found["references"][0]["label"] == "Fees"


def test_an_agent_that_is_not_strict_asks_its_model(visitor):
    with scripted(say("I know nothing.")) as script:
        ask(visitor, NOTHING)
    assert len(script.requests) == 1


# Grounded


@both_paths
@pytest.mark.parametrize("format", ["markdown", "html"])
def test_a_grounded_agents_answer_that_cites_nothing_is_marked(visitor, stream, format):
    """G15: on the wire, below the text and after a reload; the text itself stays as it was."""
    Agent.objects.update(grounded=True)
    with scripted(say("On Friday at six.")):
        end = ask(visitor, stream=stream, format=format)
    assert end["text"] == "On Friday at six." and end["outcome"] == "answered"
    assert end["support"] == {"verdict": "uncited", "is_marked": True}
    shown = "".join(Run.objects.get().parts)
    assert ("names no source" in shown) == (format == "html")
    (turn,) = visitor.get(f"conversations/{end['conversation_id']}").json()["turns"]
    assert turn["support"] == end["support"] and "names no source" in turn["html"]
    assert "names no source" not in turn["text"]


def test_the_mark_is_a_part_of_its_own_and_the_last(visitor):
    Agent.objects.update(grounded=True)
    with scripted(say("On Friday.\n\n- at six")):
        frames = frames_of(visitor.ask(QUESTION, stream=True, format="html"))
    parts = {f.data["index"]: f.data.get("html", "") for f in frames if f.kind == "part"}
    assert [index for index, html in parts.items() if "names no source" in html] == [max(parts)]
    assert list(parts.values()) == Run.objects.get().parts
    assert frames[-1].kind == "done"


def test_the_page_without_javascript_shows_the_mark(visitor):
    Agent.objects.update(grounded=True)
    with scripted(say("On Friday at six.")):
        form = {"agent": "depot", "q": QUESTION, "csrfmiddlewaretoken": visitor.token}
        page = visitor.client.post("/ai-answers/ask", form).content.decode()
    assert "names no source" in page


@both_paths
def test_what_cites_or_says_nothing_is_not_marked(visitor, stream):
    Agent.objects.update(grounded=True)
    with scripted(say("On Friday [1]."), say(""), say("I could not find this.")):
        for _ in range(3):
            assert "support" not in ask(visitor, stream=stream)


def test_an_agent_that_asks_for_nothing_marks_nothing(visitor):
    with scripted(say("On Friday.")):
        assert "support" not in ask(visitor)
    assert Turn.objects.get().support == {}


# Compared with the sources


@pytest.fixture
def checking(visitor):
    Agent.objects.update(support_check=True)
    return visitor


@both_paths
def test_each_sentence_is_judged_by_what_it_cites(checking, stream):
    """G12, G19: a wrong day, a wrong hour, other words, and what cites nothing."""
    text = (
        "Parcels leave on Friday at six [1]. They leave on Saturday [1]. The gate opens at 7 [1]. "
        "Cats sleep in warm places [1]. Come early."
    )
    with scripted(say(text)):
        support = ask(checking, stream=stream)["support"]
    verdicts = [(row["verdict"], row.get("missing")) for row in support["sentences"]]
    assert verdicts == [
        ("supported", None),
        ("unsupported", ["Saturday"]),
        ("unsupported", ["7"]),
        ("unsupported", None),
        ("uncited", None),
    ]
    assert support["verdict"] == "partly" and support["is_marked"] is True
    assert support["sentences"][0] == {
        "text": "Parcels leave on Friday at six.",
        "references": [1],
        "verdict": "supported",
    }
    assert Turn.objects.get().support == support


def test_the_supporting_quote_is_stored_with_its_reference_and_shown_in_its_card(checking):
    """G03: sent with done, kept, and shown after a reload."""
    text = "The gate opens at five [1]. Parcels leave on Friday [1]."
    with scripted(say(text)):
        end = ask(checking)
    (reference,) = end["references"]
    quote = "The gate opens at five. … Parcels leave the depot on Friday at six."
    assert reference["quote"] == quote and quote in reference["html"]
    assert Turn.objects.get().references[0]["quote"] == quote
    path = f"conversations/{end['conversation_id']}"
    (shown,) = checking.get(path).json()["turns"][0]["references"]
    assert shown["quote"] == quote and quote in shown["html"]


def test_a_quote_goes_with_the_page_when_it_becomes_private(checking):
    """G10."""
    with scripted(say("The gate opens at five [1].")):
        end = ask(checking)
    Article.objects.update(audience="staff")
    path = f"conversations/{end['conversation_id']}"
    (shown,) = checking.get(path).json()["turns"][0]["references"]
    assert "quote" not in shown and shown["html"] == "" and shown["index"] == 1


def test_a_quote_is_text_whatever_a_page_says(checking):
    from ai_answers.indexing import index_source
    from ai_answers.sources import get_source

    Article.objects.create(
        title="Kettle", body='The <img src=x onerror=alert(1)> kettle & "lid" weigh 900 grams.'
    )
    index_source(get_source("site.article"))
    with scripted(say("The kettle weighs 900 grams [1].")):
        (reference,) = ask(checking, "What does the kettle weigh?")["references"]
    assert "900 grams" in reference["quote"]
    assert "<img" not in reference["html"]


def test_doubtful_sentences_are_named_below_the_answer(checking):
    """As text: they are a model's."""
    with scripted(say("Parcels leave on Monday <b>x</b> [1]. The gate opens at five [1].")):
        end = ask(checking, format="html")
    html = end["html"]
    assert "Not found in the sources" in html and html.count("Parcels leave on Monday") == 2
    assert "<b>" not in html and html.count("The gate opens at five") == 1
    (turn,) = checking.get(f"conversations/{end['conversation_id']}").json()["turns"]
    assert "Not found in the sources" in turn["html"]


def test_an_answer_that_is_borne_is_not_marked(checking):
    with scripted(say("The gate opens at five [1].")):
        support = ask(checking)["support"]
    assert (support["verdict"], support["is_marked"]) == ("supported", False)


def test_an_answer_in_another_language_is_judged_by_its_facts(checking):
    """Words cannot be compared there; days, numbers and dates can."""
    text = "Pakete gehen am Freitag um sechs [1]. Das Tor ist am Samstag auf [1]. Es ist schön [1]."
    with scripted(say(text)):
        support = ask(checking)["support"]
    verdicts = [row["verdict"] for row in support["sentences"]]
    assert verdicts == ["supported", "unsupported", "unchecked"]


def test_sources_of_every_round_are_compared(checking):
    """S61: also what a tool message brought."""
    with scripted(
        call("search", query="label address capital letters"),
        say("Write the address in capital letters [2]."),
    ):
        support = ask(checking)["support"]
    assert support["verdict"] == "supported"


def entail(pairs):
    """Follow nothing but what says five; an entailment model of the tests."""
    return [None if "lid" in claim else float("five" in claim) for premise, claim in pairs]


def break_down(pairs):
    raise RuntimeError(pairs[0][1])


def too_few(pairs):
    return []


def hang(pairs):
    time.sleep(4)


def test_an_entailment_model_decides_where_no_fact_is_missing(checking, settings):
    settings.AI_ANSWERS = settings.AI_ANSWERS | {
        "ENTAILMENT": "tests.answers.test_reliability.entail"
    }
    text = "The gate opens at five [1]. Parcels leave on Friday [1]. On Monday at five [1]. A [1]."
    with scripted(say(text)):
        support = ask(checking)["support"]
    verdicts = [row["verdict"] for row in support["sentences"]]
    assert verdicts == ["supported", "unsupported", "unsupported", "unsupported"]


@pytest.mark.parametrize("broken", [break_down, too_few, hang])
def test_a_broken_entailment_model_leaves_it_to_words_and_facts(checking, settings, broken, caplog):
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"ENTAILMENT": broken, "TOOL_SECONDS": 1}
    with caplog.at_level("INFO"), scripted(say("The gate opens at five [1].")):
        end = ask(checking)
    assert end["outcome"] == "answered" and end["support"]["verdict"] == "supported"
    ours = [r.getMessage() for r in caplog.records if r.name.startswith("ai_answers")]
    assert any("ENTAILMENT failed" in message for message in ours)
    assert "opens at five" not in "".join(ours)


def test_a_run_whose_time_is_up_while_it_is_judged_keeps_its_answer(checking, settings):
    limits = {"ENTAILMENT": hang, "TOOL_SECONDS": 30, "RUN_SECONDS": 2}
    settings.AI_ANSWERS = settings.AI_ANSWERS | limits
    with scripted(say("The gate opens at five [1].")):
        end = ask(checking, stream=True)
    assert (end["outcome"], end["text"]) == ("answered", "The gate opens at five[1].")
    assert [row["index"] for row in end["references"]] == [1] and "support" not in end


def test_a_stopped_answer_is_not_judged(checking):
    import threading

    from django.db import connections

    ends = []

    def read():
        try:
            ends.append(ask(checking, stream=True))
        finally:
            connections.close_all()

    with scripted(Reply(deltas=["On Monday [1]. "], hang_seconds=30)) as script:
        reader = threading.Thread(target=read)
        reader.start()
        while not script.requests:
            time.sleep(0.02)
        time.sleep(0.3)
        checking.post(f"runs/{Run.objects.get().pk}/stop", {})
        reader.join(20)
    assert ends[0]["outcome"] == "stopped" and "support" not in ends[0]


def test_the_three_are_fields_of_the_agents_form(admin_client):
    """Settings of the agent, switched off at first."""
    make_agent()
    agent = Agent.objects.get()
    assert (agent.strict, agent.grounded, agent.support_check) == (False, False, False)
    page = admin_client.get(f"/admin/ai_answers/agent/{agent.pk}/change/").content.decode()
    for name in ("strict", "grounded", "support_check"):
        assert f'name="{name}"' in page


def test_the_admin_shows_the_verdict_of_a_turn(checking, admin_client):
    with scripted(say("Parcels leave on Monday <i>x</i> [1].")):
        ask(checking)
    turn = Turn.objects.get()
    page = admin_client.get(f"/admin/ai_answers/turn/{turn.pk}/change/").content.decode()
    assert "unsupported: Parcels leave on Monday" in page and "<code>Monday</code>" in page
    assert "<i>x</i>" not in page


# No answer


@both_paths
@pytest.mark.parametrize("format", ["markdown", "html"])
def test_what_a_no_answer_cites_is_offered_as_the_closest_pages(visitor, stream, format):
    """G18: as links below the text and on the wire, never as support."""
    with scripted(say("I could not find this [1].")):
        end = ask(visitor, stream=stream, format=format)
    assert end["outcome"] == "no_answer" and end["references"] == []
    (page,) = end["support"]["closest"]
    assert page["label"] == "Depot times" and "index" not in page
    shown = "".join(Run.objects.get().parts)
    link = f'<a href="{page["url"]}">Depot times</a>'
    assert (link in shown) == (format == "html") and "data-ref-index" not in shown
    path = f"conversations/{end['conversation_id']}"
    (turn,) = visitor.get(path).json()["turns"]
    assert link in turn["html"] and turn["support"]["closest"][0]["label"] == "Depot times"
    Article.objects.update(audience="staff")
    assert b"Depot times" not in visitor.get(path).content  # G10


def test_the_sites_own_message_offers_nothing(visitor):
    """S31, G17."""
    with scripted(say("[1]"), say("I could not find this.")):
        assert "support" not in ask(visitor) and "support" not in ask(visitor)


@pytest.mark.parametrize("format", ["markdown", "html"])
def test_a_page_that_a_model_makes_up_is_never_a_source(visitor, format):
    """G13, G14: no link, no list of sources, no image that would fetch; the text alone stays."""
    text = (
        "![x](https://bank.example/p.gif?q=secret) "
        "On Friday [1](https://bank.example/login). See [the bank](https://bank.example/).\n\n"
        "Sources:\n- [Bank](https://bank.example/)\n- [1] https://bank.example/"
    )
    with scripted(say(text)):
        end = ask(visitor, format=format)
    assert [row["label"] for row in end["references"]] == ["Depot times"]
    assert "bank.example" not in str(end["references"]) and "Sources" not in end["text"]
    assert "bank.example" not in end.get("html", "") and "<img" not in end.get("html", "")
