"""Reference cards: the site's own templates, live objects, one broken card among good ones."""

import pytest
from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.contenttypes.models import ContentType
from django.test import override_settings
from django.utils import translation

from ai_answers.rendering.references import (
    render_reference,
    render_references,
    safe_url,
    unavailable,
)
from ai_answers.sources import PublicSource, register, register_source, unregister
from ai_answers.values import Asker, Chunk, ObjectKey, Source
from tests.site.models import Article

CARDS = {
    "ai_answers/references/site.article.teaser.html": (
        "<article lang='{{ language }}'><a href='{{ reference.url }}'>{{ reference.label }}</a>"
        "{{ view_mode }}{{ object.pk }}</article>"
    ),
    "ai_answers/references/admin.logentry.teaser.html": "by {{ object.user.username }}",
    "ai_answers/references/broken.html": "{% if object.title == 'Bad' %}{% widthratio 1 0 x %}"
    "{{ object.explode.now }}{% include missing %}{% endif %}fine",
    "ai_answers/references/bare.html": "{{ request }}{{ user }}{{ reference.html }}|"
    "{{ source.name }}|{{ reference.key }}|{{ reference.quote }}",
    "ai_answers/references/default.html": "<p>{{ object }}</p>",
}


@pytest.fixture(autouse=True)
def cards(settings):
    """The test site's templates, as a site would write them."""
    loader = ("django.template.loaders.locmem.Loader", CARDS)
    settings.TEMPLATES = [
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {
                "loaders": [loader],
                "context_processors": ["django.contrib.auth.context_processors.auth"],
            },
        }
    ]


def asker(language="en", user=None):
    return Asker(user=user or AnonymousUser(), language=language)


def article(**fields):
    return Article.objects.create(**({"title": "Hours", "body": "We open at nine."} | fields))


def source_of(
    obj,
    *,
    number=1,
    language="en",
    anchor="",
    text="We open at nine.",
    key=None,
    score_kind="cosine",
):
    key = key or ObjectKey("site.article", str(obj.pk))
    chunk = Chunk(
        id=1,
        key=key,
        language=language,
        position=0,
        text=text,
        title="Indexed title",
        url="/indexed/",
        anchor=anchor,
    )
    return Source(
        number=number,
        key=key,
        title="Indexed title",
        url="/indexed/",
        language=language,
        chunks=(chunk,),
        score=0.5,
        score_kind=score_kind,
    )


def references(*objects, **kwargs):
    options = {"asker": asker(), "view_mode": "teaser"} | kwargs
    return render_references([source_of(obj) for obj in objects], **options)


@pytest.mark.django_db
def test_a_reference_is_the_live_object_in_the_sites_own_card():
    """D30, S53, S106."""
    obj = article()

    (reference,) = references(obj)

    assert reference.as_dict() == {
        "key": f"site.article:{obj.pk}",
        "entity_type": "site.article",
        "entity_id": str(obj.pk),
        "label": "Hours",
        "url": f"/articles/{obj.pk}/",
        "score": 0.5,
        "html": f"<article lang='en'><a href='/articles/{obj.pk}/'>Hours</a>teaser{obj.pk}"
        "</article>",
    }


@pytest.mark.django_db
def test_the_template_goes_from_the_model_and_mode_to_the_mode_to_the_default():
    """S53."""
    obj = article()
    assert references(obj, view_mode="teaser")[0].html.startswith("<article")
    assert references(obj, view_mode="broken")[0].html == "fine"
    assert references(obj, view_mode="unheard-of")[0].html == "<p>Hours</p>"


@pytest.mark.django_db
def test_an_object_comes_once_however_often_it_was_found():
    """S51: two chunks or two languages of one object are one reference."""
    one, two = article(), article(title="Fees")
    sources = [source_of(one), source_of(two), source_of(one, language="de")]

    found = render_references(sources, asker=asker(), view_mode="teaser")

    assert [reference.label for reference in found] == ["Hours", "Fees"]


@pytest.mark.django_db
def test_all_objects_of_a_kind_are_loaded_by_one_query(django_assert_num_queries):
    objects = [article(title=f"Article {n}") for n in range(8)]
    with django_assert_num_queries(1):
        assert len(references(*objects)) == 8


@pytest.mark.django_db
def test_what_a_card_reads_of_related_objects_comes_with_the_same_query(django_assert_num_queries):
    """S53: the source's query set says what to join."""

    class Entries(PublicSource):
        def get_queryset(self):
            return LogEntry.objects.select_related("user")

        def get_url(self, obj, language):
            return ""

    register(LogEntry)(Entries)
    user, kind = User.objects.create(username="ada"), ContentType.objects.get_for_model(User)
    entries = [
        LogEntry.objects.create(
            user=user, content_type=kind, object_id=n, object_repr="x", action_flag=ADDITION
        )
        for n in range(5)
    ]
    sources = [
        Source(number=n, key=ObjectKey("admin.logentry", str(entry.pk)), title="", url="",
               language="", chunks=())
        for n, entry in enumerate(entries, 1)
    ]  # fmt: skip
    try:
        with django_assert_num_queries(1):
            found = render_references(sources, asker=asker(), view_mode="teaser")
    finally:
        unregister(LogEntry)
    assert [reference.html for reference in found] == ["by ada"] * 5


@pytest.mark.django_db
def test_access_is_checked_again_when_a_card_is_rendered():
    """S52: made private, or deleted, since the search."""
    private, deleted, public = article(), article(), article(title="Open to all")
    objects = [private, deleted, public]
    sources = [source_of(obj) for obj in objects]
    Article.objects.filter(pk=private.pk).update(audience="members", title="Secret")
    deleted.delete()

    found = render_references(sources, asker=asker(), view_mode="teaser")
    assert [reference.label for reference in found] == ["Open to all"]

    member = asker(user=User.objects.create_user("member"))
    found = render_references(sources, asker=member, view_mode="teaser")
    assert [reference.label for reference in found] == ["Secret", "Open to all"]


@pytest.mark.django_db
def test_a_cited_object_that_is_gone_keeps_its_place_and_tells_nothing():
    """G10: neither the old title nor the new one leaks."""
    obj = article()
    source = source_of(obj)
    Article.objects.update(audience="members", title="Secret")

    (reference,) = render_references(
        [source], asker=asker(), view_mode="teaser", keep_unavailable=True
    )

    assert reference == unavailable(source, asker=asker())
    assert reference.key == f"site.article:{obj.pk}"
    assert (reference.label, reference.url, reference.html) == ("No longer available", "", "")


@pytest.mark.django_db
def test_the_visitors_language_comes_first_then_the_one_it_was_found_in():
    """S54."""
    both = article(title_de="Öffnungszeiten", body_de="Wir öffnen um neun.")
    english = article(title="Fees")
    sources = [source_of(both), source_of(english)]

    found = render_references(sources, asker=asker("de"), view_mode="teaser")

    assert [reference.label for reference in found] == ["Öffnungszeiten", "Fees"]
    assert found[0].html.startswith("<article lang='de'>")
    assert found[1].html.startswith("<article lang='en'>")


@pytest.mark.django_db
def test_cards_speak_the_visitors_language_whatever_is_active():
    """S54: the template's own words as well."""
    word = "{% load i18n %}{% get_current_language as code %}{{ code }}"
    CARDS["ai_answers/references/words.html"] = word
    obj = article()
    with translation.override("en"):
        assert references(obj, asker=asker("de"), view_mode="words")[0].html == "de"
        assert references(obj, asker=asker(""), view_mode="words")[0].html == "en"
        assert translation.get_language() == "en"


@pytest.mark.django_db
def test_a_broken_card_is_empty_logged_and_alone(caplog):
    """D43."""
    good, bad, other = article(), article(title="Bad"), article(title="Also good")

    found = references(good, bad, other, view_mode="broken")

    assert [reference.html for reference in found] == ["fine", "", "fine"]
    assert found[1].label == "Bad"
    assert f"The card of site.article:{bad.pk} could not be rendered." in caplog.text


@pytest.mark.django_db
def test_a_card_sees_no_request_and_no_context_processor():
    """D43: isolated, so it is the same for everyone who may see the object."""
    obj = article()
    (reference,) = references(obj, view_mode="bare")
    assert reference.html == f"|site.article|site.article:{obj.pk}|"


@pytest.mark.django_db
def test_the_address_leads_to_the_heading_of_the_best_chunk():
    obj = article(title_de="Öffnungszeiten", body_de="Wir öffnen.")
    source = source_of(obj, anchor="am-sonntag-geöffnet", language="de")

    def url(language):
        return render_reference(source, obj, asker=asker(language), view_mode="teaser").url

    assert url("de") == f"/articles/{obj.pk}/#am-sonntag-ge%C3%B6ffnet"
    assert url("en") == f"/articles/{obj.pk}/"  # that heading is not on the English page


@pytest.mark.django_db
def test_hostile_titles_are_plain_text_and_escaped_in_cards():
    """H10: quotation marks, markup, 300 characters, line breaks."""
    hostile = '<script>alert("x")</script>'
    obj = article(title=hostile)
    (reference,) = references(obj)
    assert reference.label == hostile
    assert "<script" not in reference.html

    Article.objects.update(title="  Two\n lines  ")
    assert references(obj)[0].label == "Two lines"
    Article.objects.update(title="x" * 200)
    assert references(obj)[0].label == "x" * 200


HIDDEN = "\u202e\u200b\u2060\U000e0041\x1b\x9b\u2066"


@pytest.mark.django_db
def test_what_is_not_seen_reaches_no_label_and_no_quote():
    """H10: no turned-around name, no hidden instruction, nothing that drives a terminal."""
    obj = article(title=f"Ho{HIDDEN}urs \u0645\u06cc\u200c\u062e")
    source = source_of(obj, text=f"We {HIDDEN}open at nine.")

    reference = render_reference(source, obj, asker=asker(), view_mode="teaser", quote_chars=100)

    assert reference.label == "Hours \u0645\u06cc\u200c\u062e"
    assert reference.quote == "We open at nine."


class Files(PublicSource):
    """A kind of source whose answers a test sets."""

    def __init__(self, *, title="", url="", error=None):
        self.name, self.title, self.url, self.error = "files", title, url, error

    def get_objects(self, ids):
        return {entity_id: entity_id for entity_id in ids}

    def get_title(self, obj, language):
        if self.error:
            raise self.error
        return self.title

    def get_url(self, obj, language):
        if self.error:
            raise self.error
        return self.url


def file_reference(**kwargs):
    register_source(Files(**kwargs))
    try:
        source = source_of(None, key=ObjectKey("files", "a/b.md"))
        source = Source(
            number=1, key=source.key, title="", url="", language="", chunks=source.chunks
        )
        return render_references([source], asker=asker(), view_mode="teaser")[0]
    finally:
        unregister("files")


@pytest.mark.parametrize(
    "title, url, label",
    [
        ("Guide", "/guide/", "Guide"),
        ("", "/guide/first%20steps/", "guide/first steps"),
        (" \n ", "https://docs.example/guide/", "guide"),
        ("", "/", "files:a/b.md"),
        ("", "", "files:a/b.md"),
        ("", "javascript:alert(1)", "files:a/b.md"),
        ("\u200b\u202e \U000e0041", "/guide/", "guide"),
        ("", "/%E2%80%AEguide%E2%80%8B/", "guide"),
        ("\u2060", "/%E2%80%8B/", "files:a/b.md"),
    ],
)
def test_without_a_title_the_path_is_the_label_and_without_that_the_key(title, url, label):
    """H10, S106: a source without address still has a label and a card."""
    reference = file_reference(title=title, url=url)
    assert reference.label == label
    assert reference.html == "<p>a/b.md</p>"


def test_a_source_that_fails_still_gives_a_reference(caplog):
    reference = file_reference(error=ZeroDivisionError("title"))
    assert (reference.label, reference.url) == ("files:a/b.md", "")
    assert "get_title" in caplog.text and "get_url" in caplog.text


@pytest.mark.parametrize(
    "url",
    [
        "/",
        "/ask/?q=a%20b#top",
        "/straße/",
        "https://docs.example/guide/",
        "http://localhost:8000/x",
    ],
)
def test_web_addresses_and_site_paths_are_kept(url):
    assert safe_url(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        None,
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "java\tscript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "mailto:a@example.com",
        "//evil.example/",
        "/\\evil.example",
        "\\\\evil.example",
        "/a\n/b",
        "https:evil.example",
        "https:///evil.example",
        "https://exa mple/",
        'https://example/"onmouseover="x',
        "relative/page",
        "http://[broken/",
        "\x00/path",
    ],
)
def test_any_other_address_is_dropped(url):
    assert safe_url(url) == ""


@pytest.mark.django_db
def test_chunk_text_stays_unless_a_quote_is_asked_for():
    """D30."""
    obj = article()
    text = "## Hours\n\n- **We open** at `nine` on [Sunday](/x). " + "And close at five. " * 20
    source = source_of(obj, text=text)

    def reference(**kwargs):
        return render_reference(source, obj, asker=asker(), view_mode="bare", **kwargs)

    assert "open" not in str(reference().as_dict())
    quote = reference(quote_chars=60).quote
    assert quote == "Hours We open at nine on Sunday. And close at five. And…"
    assert reference(quote_chars=60).html.endswith(f"|{quote}")


@pytest.mark.django_db
def test_a_number_is_kept_when_one_is_given():
    obj = article()
    reference = render_reference(source_of(obj), obj, asker=asker(), view_mode="teaser", index=3)
    assert reference.as_dict()["index"] == 3


@pytest.mark.django_db
@override_settings(TEMPLATES=[])
def test_without_any_template_there_still_is_a_label():
    (reference,) = references(article())
    assert (reference.label, reference.html) == ("Hours", "")


@pytest.mark.django_db
def test_a_score_without_a_scale_is_not_sent():
    """D59: a full-text score depends on all pages, also on those its reader may not see."""
    obj = article()
    for kind, score in (
        ("cosine", 0.5),
        ("fused", None),
        ("bm25", None),
        ("cohere", None),
        ("", None),
    ):
        source = source_of(obj, score_kind=kind)
        (reference,) = render_references([source], asker=asker(), view_mode="teaser")
        assert reference.score == score
