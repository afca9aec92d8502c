"""``POST search``: the site's pages on a query, for whoever may ask the agent."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import Permission, User
from django.core.cache import cache
from django.db import connections

from ai_answers.indexing import index_source
from ai_answers.models import Agent, AgentTool, Turn
from ai_answers.sources import get_source

from ..retrieval.embedding import ConceptEmbedding, settings_with_embedding
from ..site.models import Article


def search(api, query="When do parcels leave the depot?", **fields):
    return api.post("search", {"agent": "depot", "query": query, **fields})


def labels(response):
    return [row["label"] for row in response.json()["results"]]


def test_pages_come_best_first_as_references(visitor):
    """D30, D42: no model, no turn, no budget."""
    response = search(visitor)
    assert response.status_code == 200 and response["Cache-Control"] == "no-store"
    body = response.json()
    assert body["query"] == "When do parcels leave the depot?"
    first = body["results"][0]
    assert first["label"] == "Depot times" and first["url"].startswith("/articles/")
    assert {"key", "entity_type", "entity_id", "label", "url", "score", "html"} <= set(first)
    assert "leave the depot on Friday" in first["quote"]
    assert not Turn.objects.exists()


def test_nothing_of_a_closed_page_is_told(visitor, api):
    """D42: neither a title nor a count."""
    query = "coffee in the lounge, alarm code word heron"
    assert labels(search(visitor, query)) == []
    member = api(User.objects.create_user("member"))
    assert labels(search(member, query)) == ["Members' lounge"]
    staff = api(User.objects.create_user("staff", is_staff=True))
    assert set(labels(search(staff, query))) == {"Members' lounge", "Alarm routine"}
    Article.objects.filter(title="Members' lounge").update(audience="staff")
    assert labels(search(member, query)) == []


def test_labels_and_quotes_are_in_the_language_asked_for(visitor):
    """S54."""
    response = search(visitor, "Wann verlassen Pakete das Depot?", language="de")
    assert labels(response)[0] == "Zeiten des Depots"


def test_amount_limits_the_pages(visitor):
    for number in range(12):
        Article.objects.create(title=f"Parcel {number}", body="Parcels in many ways.")
    assert len(labels(search(visitor, "parcels"))) == 10
    assert len(labels(search(visitor, "parcels", amount=3))) == 3
    AgentTool.objects.update(amount=2)
    assert len(labels(search(visitor, "parcels", amount=50))) == 2


@pytest.mark.parametrize(
    "change",
    [{"query": ""}, {"query": " \n"}, {"query": None}, {"query": "x" * 2001}, {"query": {}},
     {"query": "nul \x00"}, {"amount": 0}, {"amount": 51}, {"amount": "many"},
     {"language": "tlh"}],
    ids=repr,
)  # fmt: skip
def test_bad_bodies_are_refused_in_the_one_shape(visitor, change):
    response = visitor.post("search", {"agent": "depot", "query": "parcels", **change})
    assert response.status_code == 400
    assert set(response.json()["error"]) >= {"code", "message"}


@pytest.mark.parametrize("query", ['<b>parcels</b> & "quotes"', "parcels OR NEAR(x) *", "100 % _"])
def test_hostile_queries_are_words(visitor, query):
    response = search(visitor, query)
    assert response.status_code == 200
    assert response.json()["query"] == query
    assert "<b>" not in json.dumps([row["html"] for row in response.json()["results"]])


def test_the_gates_are_those_of_a_question(visitor, api, agent):
    """S1-S3: CSRF for everyone, the agent's access, one answer for unknown agents."""
    assert search(api(csrf=False)).status_code == 403
    assert visitor.post("search", {"agent": "nobody", "query": "x"}).status_code == 404
    assert visitor.get("search").status_code == 405
    agent.access = Agent.Access.AUTHENTICATED
    agent.save()
    assert search(visitor).status_code == 403
    user = User.objects.create_user("reader")
    assert search(api(user)).status_code == 403
    user.user_permissions.add(Permission.objects.get(codename="use_ai_answers"))
    assert search(api(User.objects.get(pk=user.pk))).status_code == 200
    agent.enabled = False
    agent.save()
    assert search(api(User.objects.get(pk=user.pk))).status_code == 409


def test_searches_have_a_rate_of_their_own(visitor, settings):
    cache.clear()
    rates = {"burst": None, "sustained": None, "feedback": None, "search": "2/min"}
    settings.AI_ANSWERS = {**settings.AI_ANSWERS, "THROTTLE": rates}
    assert [search(visitor).status_code for _ in range(3)] == [200, 200, 429]
    assert search(visitor)["Retry-After"]
    cache.clear()


def test_an_agent_without_a_search_cannot_be_searched(visitor, agent):
    agent.tools.all().delete()
    assert search(visitor).status_code == 409


class WatchedEmbedding(ConceptEmbedding):
    """Notes whether the connection of whoever waits for it is open."""

    waiting: list = []
    held: list = []

    def embed_query(self, text):
        self.held.extend(wrapper.connection for wrapper in self.waiting)
        return super().embed_query(text)


def test_no_connection_is_held_while_the_embedding_is_waited_for(agent, api, settings):
    """Design 1.5: an embedding service that hangs must not take the site's connections along."""
    settings.AI_ANSWERS = settings.AI_ANSWERS | settings_with_embedding()
    embedding = settings.AI_ANSWERS["EMBEDDINGS"]["concepts"]
    embedding["BACKEND"] = f"{__name__}.WatchedEmbedding"
    index_source(get_source("site.article"))
    # The test client calls the view on this thread.
    WatchedEmbedding.waiting[:] = [connections["default"]]
    WatchedEmbedding.held.clear()
    assert labels(search(api()))[0] == "Depot times"
    assert WatchedEmbedding.held == [None]


def test_another_index_cannot_be_chosen(visitor):
    """D12."""
    assert search(visitor, index="other").status_code == 200
