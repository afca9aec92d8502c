"""What answers may be written from, and for whom."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.template.loader import render_to_string
from django.utils import translation

from ai_answers.retrieval.searching import search
from ai_answers.sources import get_source
from ai_answers.values import Asker, Reference
from example_project.library.access import tags_for
from example_project.library.models import Event, FaqEntry, Page, StaffNote

EVERYDAY = [
    ("en", "How much is a library card?", "Library card"),
    ("en", "When is the Harbour branch open on Sunday?", "Harbour branch"),
    ("en", "Can I borrow a sewing machine?", "Library of things"),
    ("en", "How long may I keep a film?", "Loans and renewals"),
    ("en", "Where can I print in colour?", "Computers, printing and Wi-Fi"),
    ("en", "When does the book boat come to Alder Island?", "The book boat"),
    ("de", "Was kostet ein Bibliotheksausweis?", "Bibliotheksausweis"),
    ("de", "Wann hat die Zweigstelle Hafen am Sonntag geöffnet?", "Zweigstelle Hafen"),
    ("de", "Kann ich eine Nähmaschine ausleihen?", "Bibliothek der Dinge"),
    ("de", "Wie lange darf ich einen Film behalten?", "Ausleihen und verlängern"),
    ("de", "Was kostet die Fernleihe?", "Vorbestellung und Fernleihe"),
    ("de", "Gibt es einen Nähkurs?", "Nähkurs für Anfänger"),
]


def asker(name: str = "", *, language: str = "en") -> Asker:
    user = get_user_model().objects.get(username=name) if name else AnonymousUser()
    return Asker(user=user, language=language)


@pytest.mark.parametrize(
    ("name", "tags"),
    [
        ("", set()),
        ("member", {"members"}),
        ("staff", {"members", "staff"}),
        ("admin", {"members", "staff"}),
    ],
)
def test_tags_follow_membership(site, name, tags):
    assert set(tags_for(asker(name))) == tags


def test_an_account_that_was_closed_holds_no_tags(site):
    get_user_model().objects.filter(username__in=["member", "staff"]).update(is_active=False)

    assert tags_for(asker("member")) == tags_for(asker("staff")) == set()


@pytest.mark.parametrize(
    ("model", "slug", "readers"),
    [
        (Page, "library-card", {"", "member", "staff"}),
        (Page, "makerspace", {"member", "staff"}),
        (Event, "repair-cafe", {"", "member", "staff"}),
        (FaqEntry, "dogs", {"", "member", "staff"}),
        (StaffNote, "closing-routine", {"staff"}),
    ],
)
def test_tags_and_permission_agree_on_who_may_read(site, model, slug, readers):
    source, obj = get_source(model._meta.label_lower), model.objects.get(slug=slug)
    tags = source.access_tags(obj)

    for name in ("", "member", "staff"):
        by_tag = not tags or bool(tags & set(tags_for(asker(name))))
        assert source.can_view(asker(name), obj) is by_tag is (name in readers), name


def test_a_page_is_a_document_in_each_language(site):
    source = get_source("library.page")

    documents = {d.language: d for d in source.documents(Page.objects.get(slug="library-card"))}

    assert set(documents) == {"en", "de"}
    assert documents["en"].title == "Library card"
    assert documents["en"].url == "/en/library-card/"
    assert documents["de"].title == "Bibliotheksausweis"
    assert documents["de"].url == "/de/library-card/"
    assert "24 Euro im Jahr" in documents["de"].text


def test_an_event_says_when_and_where_in_words(site):
    source, event = get_source("library.event"), Event.objects.get(slug="repair-cafe")

    texts = {d.language: d.text for d in source.documents(event)}

    assert texts["en"].startswith("Sunday, ")
    assert "12:00–15:30 · Harbour branch, Quay Room · Free" in texts["en"]
    assert texts["de"].startswith("Sonntag, ")
    assert "Zweigstelle Hafen, Kaizimmer · Kostenlos" in texts["de"]


def test_an_event_that_is_over_leaves_the_index(site):
    source, event = get_source("library.event"), Event.objects.get(slug="repair-cafe")
    Event.objects.filter(pk=event.pk).update(
        starts_at="2020-01-05T12:00Z", ends_at="2020-01-05T15:00Z"
    )

    assert str(event.pk) not in source.get_ids()


def test_headings_are_cited_by_the_ids_they_have_on_the_page(visitor):
    source = get_source("library.page")
    html = visitor.get("/de/opening-hours/").content.decode()

    assert f'id="{source.get_anchor("Rückgabekästen")}"' in html


@pytest.mark.parametrize(
    ("language", "shown"),
    [("en", "Harbour branch, Quay Room"), ("de", "Zweigstelle Hafen, Kaizimmer")],
)
def test_the_card_of_an_event_shows_date_and_place(site, language, shown):
    event = Event.objects.get(slug="repair-cafe")
    with translation.override(language):
        html = render_to_string(
            "ai_answers/references/library.event.teaser.html",
            {
                "object": event,
                "reference": Reference(
                    index=1,
                    key="k",
                    entity_type="library.event",
                    entity_id=str(event.pk),
                    label="Repair <café>",
                    url="/there/",
                    score=None,
                    html="",
                ),
                "source": get_source("library.event"),
            },
        )
    assert shown in html and "12:00" in html
    assert 'href="/there/"' in html and "Repair &lt;café&gt;" in html


def test_an_everyday_question_finds_its_page_first(indexed):
    for language, question, title in EVERYDAY:
        hits = search("default", question, asker=asker(language=language))

        assert hits[0].chunk.title == title, question
        assert hits[0].chunk.url.startswith(f"/{language}/"), question


@pytest.mark.parametrize(
    ("question", "title", "readers"),
    [
        ("How long may I book the laser cutter?", "Makerspace handbook", {"member", "staff"}),
        ("Who may waive late fees?", "Waiving fees: who may decide what", {"staff"}),
    ],
)
def test_a_closed_page_is_found_by_those_who_may_read_it(indexed, question, title, readers):
    for name in ("", "member", "staff"):
        titles = {hit.chunk.title for hit in search("default", question, asker=asker(name))}
        assert (title in titles) is (name in readers), name
