import datetime

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User

from ai_answers.exceptions import ConfigurationError
from ai_answers.sources import (
    PublicDirectorySource,
    PublicSource,
    Source,
    get_source,
    parse_key,
    register,
    register_source,
    registered,
    unregister,
)
from ai_answers.values import Asker, ObjectKey
from tests.site.models import Article

ANYONE = Asker(user=AnonymousUser())


@pytest.fixture
def group_source():
    @register(Group)
    class GroupSource(PublicSource):
        fields = ["name", "id"]

    yield get_source("auth.group")
    unregister(Group)


@pytest.mark.django_db
def test_a_source_gives_one_document_per_language_with_title_url_text_and_tags():
    article = Article.objects.create(
        title="Opening hours", body="Nine to five.", title_de="Zeiten", body_de="Neun bis fünf.",
        audience="members",
    )  # fmt: skip

    english, german = get_source("site.article").documents(article)

    assert english.key == german.key == ObjectKey("site.article", str(article.pk))
    assert (english.language, english.title, english.text) == (
        "en", "Opening hours", "Nine to five.",
    )  # fmt: skip
    assert (german.language, german.title, german.text) == ("de", "Zeiten", "Neun bis fünf.")
    assert english.url == f"/articles/{article.pk}/"
    assert english.access_tags == {"members"}


@pytest.mark.django_db
def test_short_values_are_labelled_and_the_title_is_not_repeated(group_source):
    group = Group.objects.create(name="Gardeners")
    assert group_source.get_content(group, "") == f"ID: {group.pk}"


def test_prose_stands_without_a_label():
    class Longer(PublicSource):
        fields = ["title", "body", "audience"]

    body = "A city bike costs fifteen euros a day, and the helmet is free for as long as you ride."
    article = Article(title="Bikes", body=body, audience="public")
    assert Longer().get_content(article, "") == f"{body}\n\nAudience: public"


def test_a_single_field_stands_without_a_label():
    class Plain(PublicSource):
        fields = ["title"]

    assert Plain().get_content(Article(title="Only this"), "") == "Only this"


def test_fields_may_be_properties_methods_and_html_and_empty_ones_are_left_out():
    class Ticket:
        when = datetime.date(2031, 5, 4)
        body = "<p>Bring a <b>coat</b>.</p><script>steal()</script>"
        nothing = ""
        tags = ["wet", "cold"]

        def place(self):
            return "Pier 3"

    class Tickets(PublicSource):
        fields = ["when", "place", "body", "nothing", "tags"]
        html_fields = ["body"]

    text = Tickets().get_content(Ticket(), "en")

    assert text == ("When: May 4, 2031\n\nPlace: Pier 3\n\nBody: Bring a coat.\n\nTags: wet, cold")


def test_a_field_that_does_not_exist_is_an_error_that_names_it():
    class Wrong(PublicSource):
        fields = ["titel"]

    with pytest.raises(ConfigurationError, match="'titel'"):
        Wrong().get_content(Article(title="x"), "")


def test_a_source_without_can_view_cannot_be_registered():
    """Deny by default: who may read has to be written down."""

    class Silent(Source):
        fields = ["name"]

    with pytest.raises(ConfigurationError, match="can_view"):
        register(Group)(Silent)
    assert get_source("auth.group") is None


def test_two_sources_of_one_model_are_refused_naming_both(group_source):
    class Second(PublicSource):
        fields = ["name"]

    with pytest.raises(ConfigurationError, match=r"auth\.group.*GroupSource.*Second"):
        register(Group)(Second)
    assert get_source("auth.group") is group_source


def test_registering_something_else_is_refused():
    with pytest.raises(ConfigurationError, match="subclass of Source"):
        register(Group)(object)
    with pytest.raises(ConfigurationError, match="instance of Source"):
        register_source(PublicSource)
    with pytest.raises(ConfigurationError, match="name"):
        register_source(PublicSource())


def test_what_is_unregistered_is_gone_and_an_unknown_one_is_an_error(group_source):
    assert group_source in registered()
    unregister("auth.group")
    assert get_source("auth.group") is None
    with pytest.raises(LookupError, match=r"auth\.group"):
        unregister("auth.group")
    register_source(group_source)


@pytest.mark.django_db
def test_objects_are_loaded_live_in_one_query_and_nonsense_ids_are_ignored(
    django_assert_num_queries,
):
    first = Article.objects.create(title="a", body="a")
    gone = Article.objects.create(title="b", body="b")
    gone_id = str(gone.pk)
    gone.delete()

    with django_assert_num_queries(1):
        found = get_source("site.article").get_objects([str(first.pk), gone_id, "x'; --", "10**9"])

    assert found == {str(first.pk): first}


@pytest.mark.django_db
def test_get_queryset_decides_what_exists():
    class Active(PublicSource):
        model = User
        fields = ["username"]

        def get_queryset(self):
            return User.objects.filter(is_active=True)

    here = User.objects.create(username="here")
    away = User.objects.create(username="away", is_active=False)
    assert Active().get_ids() == [str(here.pk)]
    assert list(Active().get_objects([str(here.pk), str(away.pk)])) == [str(here.pk)]


HEADINGS = ["Fees", "Großes Paket", "Fees", "Fees 1", "Fees", "***"]


def test_repeated_headings_get_the_ids_that_renderers_give_them(group_source):
    assert group_source.get_anchors(HEADINGS) == [
        "fees", "großes-paket", "fees-1", "fees-1-1", "fees-2", "",
    ]  # fmt: skip


def test_a_source_says_how_its_renderer_numbers_them(tmp_path):
    docs = PublicDirectorySource(path=tmp_path, name="docs", repeated_anchor="{anchor}_{number}")
    assert docs.get_anchors(["Fees", "Fees", "Fees"]) == ["fees", "fees_1", "fees_2"]


def test_ids_made_another_way_are_numbered_all_the_same():
    class Pages(PublicSource):
        def get_anchor(self, heading):
            return f"h-{heading.lower()}"

    assert Pages().get_anchors(["Fees", "Fees"]) == ["h-fees", "h-fees-1"]


def test_a_title_is_never_as_long_as_a_text():
    class Comments(PublicSource):
        name = "comments"
        fields = ["body"]

        def get_title(self, obj, language):
            return obj.body

    [document] = Comments().documents(Article(pk=1, body="A heron. " * 1000))
    assert (len(document.title), len(document.text)) == (300, 8999)


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("site.article:7", ("site.article", "7")),
        ("Site.Article:7", ("site.article", "7")),
        ("docs:a:b.md", ("docs", "a:b.md")),
        ("DOCS:Guide:x.md", ("Docs:Guide", "x.md")),
        ("Gone.Model:7", ("gone.model", "7")),
        ("site.article", None),
        ("site.article:", None),
        (":7", None),
    ],
)
def test_an_object_is_named_by_its_source_and_id(tmp_path, written, key):
    register_source(PublicDirectorySource(path=tmp_path, name="Docs:Guide", base_url="/g/"))
    try:
        assert parse_key(written) == (key and ObjectKey(*key))
    finally:
        unregister("Docs:Guide")
