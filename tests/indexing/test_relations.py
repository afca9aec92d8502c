"""What shares a row with an object, or quotes it, follows it."""

import pytest
from django.db import transaction

from ai_answers.retrieval import get_index
from ai_answers.sources import (
    PublicSource,
    get_source,
    objects_changed,
    register,
    register_source,
    unregister,
)
from tests.site.models import Article, Cafe, Place, Remark, Shop, Summary

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def describe():
    """Registers a source of a model."""
    models = []

    def declare(model, **attributes):
        register(model)(type(f"{model.__name__}Source", (PublicSource,), attributes))
        models.append(model)

    yield declare
    for model in models:
        unregister(model)


def found(query):
    hits = get_index().search(query, tags=frozenset(), limit=50)
    return sorted({str(hit.chunk.key) for hit in hits})


def test_an_heir_follows_what_is_saved_as_its_parent(describe):
    describe(Cafe, fields=["name", "sign", "menu"])
    Shop.objects.create(sign="other")  # so that the keys differ
    cafe = Cafe.objects.create(name="Heron", sign="Blue", menu="Fish")
    key = f"site.cafe:{cafe.pk}"
    for parent, field, value in ((Place, "name", "gull"), (Shop, "sign", "red")):
        row = parent.objects.get(**{field: getattr(cafe, field)})
        setattr(row, field, value)
        row.save()
        assert found(value) == [key]
        with transaction.atomic():
            objects_changed(parent.objects.filter(pk=row.pk))
            parent.objects.filter(pk=row.pk).update(**{field: f"{value}bird"})
        assert (found(f"{value}bird"), found(value)) == ([key], [])


def test_an_heir_of_two_is_found_by_its_key_in_the_table_of_each(describe):
    describe(Place, fields=["name"])
    describe(Shop, fields=["sign"])
    Shop.objects.create(sign="other")
    cafe = Cafe.objects.create(name="Heron", sign="Blue")
    assert cafe.place_id != cafe.shop_id
    assert found("heron") == [f"site.place:{cafe.place_id}"]
    assert found("blue") == [f"site.shop:{cafe.shop_id}"]
    with transaction.atomic():
        objects_changed(Cafe.objects.all())
        Shop.objects.update(sign="Red")
    assert found("red") == [f"site.shop:{cafe.shop_id}"]


@pytest.fixture
def pages():
    source = get_source("site.article")
    unregister(source)

    @register(Article)
    class Quoting(PublicSource):
        fields = ["body", "remarks"]
        depends_on = [Remark]

    yield [Article.objects.create(title=title, body="Filler.") for title in "AB"]
    unregister(Article)
    register_source(source)


def test_a_remark_that_moves_leaves_its_page(pages):
    first, second = (f"site.article:{page.pk}" for page in pages)
    remark = Remark.objects.create(article=pages[0], text="A heron.")
    assert found("heron") == [first]
    remark.article = pages[1]
    remark.save()
    assert found("heron") == [second]
    with transaction.atomic():
        objects_changed(Remark.objects.all())
        Remark.objects.update(article=pages[0], text="A gull.")
    assert (found("heron"), found("gull")) == ([], [first])


def test_what_nobody_has_or_quotes_and_what_has_no_key_is_refused(pages):
    with pytest.raises(LookupError, match="Summary"):
        objects_changed([Summary()])
    with pytest.raises(ValueError, match="no key yet"):
        objects_changed([Remark(text="A heron.")])
