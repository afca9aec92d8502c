import pytest
from django.db.models.fields.files import FieldFile, FileField
from django.utils.translation import gettext_lazy

from ai_answers.exceptions import ConfigurationError
from ai_answers.sources.fields import value_text
from tests.site.models import Article, Remark, Summary


@pytest.mark.django_db
def test_a_relation_with_nothing_at_its_end_is_empty():
    assert value_text(Article(pk=1), "summary") == ""
    assert value_text(Summary(), "article") == ""
    assert value_text(Remark(article_id=None), "article") == ""


class Odd:
    lazy = gettext_lazy("Published")
    raw = b"secret"
    file = FieldFile(None, FileField(), "forms/a.pdf")
    pairs = {"a": 1}.values()

    def sizes(self):
        yield from (1, 2)

    @property
    def byline(self):
        return "by " + None.name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lazy", "Published"),
        ("file", "forms/a.pdf"),
        ("pairs", "1"),
        ("sizes", "1, 2"),
    ],
)
def test_a_value_is_the_text_that_a_reader_sees(name, text):
    assert value_text(Odd(), name) == text


def test_bytes_are_refused():
    with pytest.raises(TypeError, match="take the field out"):
        value_text(Odd(), "raw")


def test_what_a_property_raises_is_not_taken_for_a_wrong_name():
    with pytest.raises(AttributeError, match="NoneType"):
        value_text(Odd(), "byline")
    with pytest.raises(ConfigurationError, match="'bylin'"):
        value_text(Odd(), "bylin")
