import logging

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.test import override_settings

from ai_answers.exceptions import ConfigurationError
from ai_answers.indexing import index_source
from ai_answers.retrieval import search
from ai_answers.sources import get_source
from ai_answers.values import Asker
from tests.site.models import Article

pytestmark = pytest.mark.django_db

ANYONE = Asker(user=AnonymousUser(), language="en")
MEMBER = Asker(user=User(username="m"), language="en")
STAFF = Asker(user=User(username="s", is_staff=True), language="en")


def make(*audiences, text="The heron stands in the reeds."):
    articles = [
        Article.objects.create(title=f"Page {number}", body=text, audience=audience)
        for number, audience in enumerate(audiences)
    ]
    index_source(get_source("site.article"))
    return articles


def titles(query, *, asker=ANYONE, **options):
    return [hit.chunk.title for hit in search("default", query, asker=asker, **options)]


@pytest.mark.parametrize(
    ("asker", "sees"),
    [
        (ANYONE, {"Page 0"}),
        (MEMBER, {"Page 0", "Page 1"}),
        (STAFF, {"Page 0", "Page 1", "Page 2"}),
    ],
)
def test_each_asker_finds_only_what_he_may_read(asker, sees):
    """T5, D42."""
    make("public", "members", "staff")
    assert set(titles("heron", asker=asker)) == sees


def test_a_page_made_private_is_gone_at_once_without_indexing():
    """The index still says it is public; the object itself has the last word."""
    first, second = make("public", "public")
    Article.objects.filter(pk=first.pk).update(audience="staff")
    assert titles("heron") == [second.title]
    assert len(titles("heron", asker=STAFF)) == 2


def test_a_deleted_page_is_gone_at_once():
    first, second = make("public", "public")
    Article.objects.filter(pk=first.pk).delete()
    assert titles("heron", asker=STAFF) == [second.title]


def test_the_search_goes_on_until_it_has_enough_where_the_best_are_forbidden():
    """T5: over-fetches to refill."""
    hidden = make(*["public"] * 60, text="heron heron heron")
    Article.objects.filter(pk__in=[page.pk for page in hidden]).update(audience="staff")
    Article.objects.create(title="Open", body="A heron and much else to read about birds here.")
    Article.objects.create(title="Open too", body="A heron and much else to read about birds here.")
    from ai_answers.indexing import index_objects

    index_objects(get_source("site.article"), get_source("site.article").get_ids()[-2:])

    assert sorted(titles("heron", amount=2)) == ["Open", "Open too"]
    assert sorted(titles("heron", amount=50)) == ["Open", "Open too"]


def test_nothing_of_a_forbidden_page_is_in_the_hits():
    make("public", "staff", text="heron")
    Article.objects.create(title="Code word", body="The heron code is tern-7.", audience="staff")
    index_source(get_source("site.article"))
    assert "tern-7" not in repr(search("default", "heron code tern", asker=ANYONE, amount=20))


def test_an_unregistered_source_gives_nothing():
    make("public")
    with override_settings(AI_ANSWERS={"USER_ACCESS_TAGS": None}):
        assert titles("heron") == ["Page 0"]
    source = get_source("site.article")
    from ai_answers.sources import register_source, unregister

    unregister(source)
    try:
        assert titles("heron") == []
    finally:
        register_source(source)


def test_amount_is_five_unless_said_and_must_be_positive():
    """D11."""
    make(*["public"] * 8)
    assert len(titles("heron")) == 5
    assert len(titles("heron", amount=7)) == 7
    with pytest.raises(ValueError, match="0"):
        titles("heron", amount=0)


def test_hits_below_the_lowest_score_are_dropped():
    """S48."""
    make(*["public"] * 3)
    Article.objects.create(title="Other", body="Gulls and terns and lorries, one heron.")
    index_source(get_source("site.article"))
    scores = [hit.score for hit in search("default", "heron reeds", asker=ANYONE)]
    limit = (max(scores) + min(scores)) / 2
    kept = search("default", "heron reeds", asker=ANYONE, min_score=limit)
    assert 0 < len(kept) < len(scores)
    assert all(hit.score >= limit for hit in kept)


def test_an_object_appears_in_the_visitors_language_only():
    Article.objects.create(
        title="Kiosk", body="The kiosk WLAN is free.",
        title_de="Kiosk", body_de="Das WLAN im Kiosk ist gratis.",
    )  # fmt: skip
    index_source(get_source("site.article"))
    german = Asker(user=AnonymousUser(), language="de")
    assert [hit.chunk.language for hit in search("default", "WLAN Kiosk", asker=german)] == ["de"]
    assert [hit.chunk.language for hit in search("default", "WLAN kiosk", asker=ANYONE)] == ["en"]
    french = Asker(user=AnonymousUser(), language="fr")
    assert len(search("default", "WLAN kiosk", asker=french)) == 1


def test_what_exists_in_another_language_only_is_still_found():
    Article.objects.create(title="Heron", body="The heron stands.")
    index_source(get_source("site.article"))
    german = Asker(user=AnonymousUser(), language="de")
    assert [hit.chunk.language for hit in search("default", "heron", asker=german)] == ["en"]


def test_a_question_in_another_language_than_the_page_is_answered_from_its_own():
    Article.objects.create(
        title="Heron", body="The grey heron stands in the reeds at dawn.",
        title_de="Reiher", body_de="Der Graureiher (heron) steht im Schilf.",
    )  # fmt: skip
    index_source(get_source("site.article"))
    german = Asker(user=AnonymousUser(), language="de")
    [hit] = search("default", "where does the grey heron stand at dawn", asker=german)
    assert hit.chunk.language == "en"


def test_an_unknown_index_is_an_error_that_lists_those_there_are():
    with pytest.raises(ConfigurationError, match="'default'"):
        search("other", "heron", asker=ANYONE)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"CHUNK_TOKEN": 3}, "CHUNK_TOKEN"),
        ({"CHUNK_TOKENS": 50, "CHUNK_OVERLAP": 50}, "CHUNK_OVERLAP"),
        ({"BACKEND": "ai_answers.values.Hit"}, "no subclass"),
        ({"BACKEND": "ai_answers.nowhere.Index"}, "nowhere"),
    ],
)
def test_wrong_settings_of_an_index_are_errors_that_show_the_value(entry, said):
    backend = {"BACKEND": "ai_answers.retrieval.database.DatabaseIndex"}
    with (
        override_settings(AI_ANSWERS={"INDEXES": {"default": backend | entry}}),
        pytest.raises(ConfigurationError, match=said),
    ):
        search("default", "heron", asker=ANYONE)


class Backwards:
    """A reranker that likes what was last, by the number in its text."""

    def compress_documents(self, documents, query):
        for document in documents:
            assert query == "heron"
            document.metadata["relevance_score"] = float(document.page_content.split()[1])
        return sorted(documents, key=lambda d: -d.metadata["relevance_score"])


class Broken:
    def compress_documents(self, documents, query):
        raise ConnectionError("no reranker today")


def reranked_by(backend):
    return override_settings(
        AI_ANSWERS={
            "RERANKERS": {"second": {"BACKEND": f"tests.retrieval.test_searching.{backend}"}},
            "INDEXES": {
                "default": {
                    "BACKEND": "ai_answers.retrieval.database.DatabaseIndex",
                    "RERANKER": "second",
                }
            },
        }
    )


def test_a_reranker_orders_a_wider_pool_by_the_chunks_own_text():
    """R12, T9."""
    make(*["public"] * 12)
    with reranked_by("Backwards"):
        hits = search("default", "heron", asker=ANYONE, amount=3)
    assert [hit.chunk.title for hit in hits] == ["Page 11", "Page 10", "Page 9"]
    assert {hit.score_kind for hit in hits} == {"second"}
    with reranked_by("Backwards"):
        assert len(titles("heron", amount=9, min_score=10.0)) == 2


def test_a_reranker_that_fails_keeps_the_order_and_is_logged(caplog):
    """T11."""
    make(*["public"] * 4)
    plain = titles("heron")
    with reranked_by("Broken"), caplog.at_level(logging.WARNING):
        assert titles("heron") == plain
    assert "Reranker 'second' failed" in caplog.text
