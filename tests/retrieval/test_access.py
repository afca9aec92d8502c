"""Nothing an asker may not see leaves the server or reaches a model, on any kind of index.

The model is obedient: it says everything it was given. Every row of the table asks through the
HTTP door, so the whole way is in it: index, search tool, prompt, answer, references, what is
stored.
"""

from __future__ import annotations

import json
import re

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache

from ai_answers.chat_models.scripted import call, say, scripted
from ai_answers.indexing.background import wait_until_complete
from ai_answers.models import Run, Turn
from ai_answers.retrieval import get_index
from ai_answers.retrieval.embeddings import resting
from tests.api.conftest import Api
from tests.content import make_agent, make_pages
from tests.routers import index_in
from tests.site.models import Article

from .backends import BACKENDS
from .embedding import ConceptEmbedding

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "postgresql"])

SECRETS = {
    "public": ("Depot times", "Friday at six"),
    "members": ("Members' lounge", "serves coffee to members"),
    "staff": ("Alarm routine", "code word heron"),
}
WHO_SEES = {
    "anonymous": {"public"},
    "member": {"public", "members"},
    "staff": {"public", "members", "staff"},
}
ASKED = "When do parcels leave on Friday, who gets coffee in the lounge, what is the alarm code?"


@pytest.fixture(params=BACKENDS, ids=lambda backend: backend.name)
def backend(request, settings):
    if reason := request.param.missing():
        pytest.skip(f"{request.param.name}: {reason}")
    settings.AI_ANSWERS = request.param.settings()
    cache.clear()
    with index_in(request.param.database):
        yield request.param
        get_index().clear()


@pytest.fixture
def pages(backend):
    made = make_pages()
    wait_until_complete(timeout_seconds=20)
    make_agent()
    return {page.title: page for page in made}


def visitor(who):
    if who == "anonymous":
        return Api()
    user, _ = User.objects.get_or_create(username=who, defaults={"is_staff": who == "staff"})
    return Api(user)


def repeat_everything(messages):
    return say("\n".join(f"{message.type}: {message.content}" for message in messages))


def asked(who, question=ASKED):
    """Ask as ``who``; return all that model and visitor got, and what was stored."""
    replies = [call("search", query=question), repeat_everything]
    with scripted(*replies) as script:
        response = visitor(who).ask(question, format="html")
    assert response.status_code == 200, response.content
    turn = Turn.objects.order_by("-pk").first()
    told = [json.dumps(response.json(), ensure_ascii=False)]
    told += [str(message.content) for request in script.requests for message in request.messages]
    told += [turn.answer, json.dumps(turn.references), json.dumps(turn.sources)]
    return "\n".join(told).replace("&#x27;", "'").replace("&#39;", "'")


@pytest.mark.parametrize("who", WHO_SEES)
def test_an_obedient_model_can_only_tell_what_its_asker_may_read(pages, who):
    """D42, S52, T5."""
    told = asked(who)
    for audience, words in SECRETS.items():
        for word in words:
            assert (word in told) == (audience in WHO_SEES[who]), (audience, word)


@pytest.mark.parametrize("who", WHO_SEES)
def test_a_page_made_private_is_gone_without_indexing(pages, who):
    """D42: the index still says that everyone may read it."""
    Article.objects.filter(title="Depot times").update(audience="staff")
    told = asked(who)
    assert ("Friday at six" in told) == (who == "staff")
    assert ("Depot times" in told) == (who == "staff")


def test_closed_pages_leave_no_gap_in_the_numbers_of_the_open_ones(pages):
    """D42: no number, count or empty place tells that there was more."""
    with scripted(say("Nothing.")) as script:
        visitor("anonymous").ask(ASKED)
    prompt = script.requests[0].messages
    text = "\n".join(str(message.content) for message in prompt)
    numbers = [int(number) for number in re.findall(r"<source-[^>]*? number=\"?(\d+)", text)]
    assert numbers == list(range(1, len(numbers) + 1)) and numbers


def test_words_of_closed_pages_do_not_hide_open_ones(pages):
    """A word that stands in closed pages only counts for nothing, not for everything."""
    assert "Friday at six" in asked("anonymous", "alarm routine at the depot")


def test_a_search_without_its_embedding_goes_on_and_the_run_says_so(pages, backend):
    """The answer comes from the words alone; log and run record tell."""
    if not backend.has_vectors:
        return  # there is no embedding that could fail
    ConceptEmbedding.is_down = True
    try:
        told = asked("anonymous")
    finally:
        ConceptEmbedding.is_down = False
        resting.forget()
    assert "Friday at six" in told
    assert "'bm25' instead of 'fused'" in Run.objects.get().notes[0]
