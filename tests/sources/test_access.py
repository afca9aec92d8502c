import logging

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.test import override_settings

from ai_answers.sources import PublicSource, get_source, register_source, unregister
from ai_answers.sources.access import access_tags_of, viewable
from ai_answers.values import Asker, ObjectKey
from tests.site.models import Article

pytestmark = pytest.mark.django_db


def key(article):
    return ObjectKey("site.article", str(article.pk))


@pytest.fixture
def articles():
    audiences = ["public", "members", "staff"]
    return {a: Article.objects.create(title=a, body=a, audience=a) for a in audiences}


@pytest.mark.parametrize(
    ("user", "sees"),
    [
        (AnonymousUser(), ["public"]),
        (User(username="m"), ["public", "members"]),
        (User(username="s", is_staff=True), ["public", "members", "staff"]),
    ],
)
def test_each_asker_gets_only_what_can_view_allows(articles, user, sees):
    """D42: entities the asker may not view are dropped."""
    allowed = viewable(map(key, articles.values()), Asker(user=user))

    assert [obj.audience for obj in allowed.values()] == sees


def test_deleted_unknown_and_unregistered_objects_are_not_viewable(articles):
    gone = key(articles["public"])
    articles["public"].delete()
    keys = [gone, ObjectKey("site.article", "0"), ObjectKey("no.such", "1")]

    assert viewable(keys, Asker(user=User(is_staff=True))) == {}


@pytest.mark.parametrize("answer", [None, 1, "yes", RuntimeError("broken rule")])
def test_a_rule_that_raises_or_gives_anything_but_true_says_no(articles, answer, caplog):
    class Odd(PublicSource):
        name = "odd"
        model = Article

        def can_view(self, asker, obj):
            if isinstance(answer, Exception):
                raise answer
            return answer

    register_source(Odd())
    try:
        with caplog.at_level(logging.ERROR):
            pk = str(articles["public"].pk)
            assert viewable([ObjectKey("odd", pk)], Asker(user=AnonymousUser())) == {}
    finally:
        unregister("odd")
    assert ("can_view" in caplog.text) is isinstance(answer, Exception)


def test_a_source_that_cannot_load_its_objects_gives_none_and_leaves_the_others(articles):
    class Broken(PublicSource):
        name = "broken"

        def get_objects(self, ids):
            raise OSError("away")

    register_source(Broken())
    try:
        keys = [ObjectKey("broken", "1"), key(articles["public"])]
        assert list(viewable(keys, Asker(user=AnonymousUser()))) == keys[1:]
    finally:
        unregister("broken")


def test_tags_come_from_the_setting_and_without_it_there_are_none():
    member = Asker(user=User(username="m"))
    assert access_tags_of(member) == {"members"}
    with override_settings(AI_ANSWERS={}):
        assert access_tags_of(member) == frozenset()


def one_tag(asker):
    return "guest"


def test_a_text_alone_is_one_tag_and_not_its_letters():
    with override_settings(AI_ANSWERS={"USER_ACCESS_TAGS": one_tag}):
        assert access_tags_of(Asker(user=AnonymousUser())) == {"guest"}


@pytest.mark.parametrize("odd", ["9" * 30, "a\0b", "\ud800", "x"])
def test_an_id_that_no_object_can_have_hides_no_other(articles, odd):
    keys = [ObjectKey("site.article", odd), key(articles["public"])]
    assert list(viewable(keys, Asker(user=AnonymousUser()))) == keys[1:]


def test_an_object_that_cannot_be_loaded_hides_no_other(articles):
    class Fragile(PublicSource):
        name = "fragile"

        def get_objects(self, ids):
            return {entity_id: 1 / int(entity_id) for entity_id in ids}

    register_source(Fragile())
    try:
        keys = [ObjectKey("fragile", "0"), ObjectKey("fragile", "1")]
        assert list(viewable(keys, Asker(user=AnonymousUser()))) == keys[1:]
    finally:
        unregister("fragile")


def broken_tags(asker):
    raise RuntimeError("no directory service")


def test_tags_that_cannot_be_found_are_none():
    with override_settings(AI_ANSWERS={"USER_ACCESS_TAGS": broken_tags}):
        assert access_tags_of(Asker(user=User(username="m"))) == frozenset()


def test_viewable_asks_one_query_a_source(articles, django_assert_num_queries):
    assert get_source("site.article")
    with django_assert_num_queries(1):
        viewable(map(key, articles.values()), Asker(user=AnonymousUser()))
