"""The pages: all there in both languages, every link leads somewhere, doors stay shut."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

from example_project.library.models import Event, FaqEntry, Page, StaffNote

GERMAN_WORDS = (" und ", " die ", " der ", " Sie ")
LISTINGS = ["", "ask/", "visit/", "borrow/", "services/", "events/", "questions/", "sign-in/"]


def public_paths(language: str) -> list[str]:
    """Addresses of everything an anonymous visitor may read."""
    pages = Page.objects.filter(audience="public").values_list("slug", flat=True)
    events = [f"events/{slug}/" for slug in Event.objects.values_list("slug", flat=True)]
    entries = [f"questions/{slug}/" for slug in FaqEntry.objects.values_list("slug", flat=True)]
    rest = [*LISTINGS, *(f"{slug}/" for slug in pages), *events, *entries]
    return [f"/{language}/{path}" for path in rest]


class Collected(HTMLParser):
    """Links and ids of a page, its language and whatever a strict policy would block."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.language = ""
        self.inline: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag == "html":
            self.language = attributes["lang"]
        if tag == "a":
            self.links.append(attributes["href"])
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "style" or (tag == "script" and "src" not in attributes):
            self.inline.append(tag)
        self.inline += [name for name in attributes if name == "style" or name.startswith("on")]


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_public_page_renders_in_its_language(visitor, language):
    paths = public_paths(language)
    assert len(paths) > 40
    for path in paths:
        response = visitor.get(path)
        assert response.status_code == 200, path
        page = Collected(response.content.decode())
        assert page.language == language, path
        assert len(page.ids) == len(set(page.ids)), path


def test_a_german_page_is_german_down_to_the_menu(visitor):
    html = visitor.get("/de/library-card/").content.decode()

    assert "<h1>Bibliotheksausweis</h1>" in html
    assert "24 Euro im Jahr" in html
    assert "Auf dieser Seite" in html and "Anmelden" in html
    assert "Library card" not in html and "Sign in" not in html
    assert all(word in html for word in GERMAN_WORDS)


def test_dates_are_written_as_the_language_does(visitor):
    event = Event.objects.get(slug="repair-cafe")
    day = event.starts_at.day
    assert f"Sunday, {day} " in visitor.get("/en/events/repair-cafe/").content.decode()
    assert f"Sonntag, {day}. " in visitor.get("/de/events/repair-cafe/").content.decode()


@pytest.mark.parametrize("language", ["en", "de"])
def test_internal_links_and_their_anchors_resolve(staff, language):
    """Staff may read all; so every link of every text is followed once."""
    more = [
        f"{slug}/"
        for slug in Page.objects.filter(audience="members").values_list("slug", flat=True)
    ]
    more += [f"staff-notes/{slug}/" for slug in StaffNote.objects.values_list("slug", flat=True)]
    pages: dict[str, Collected] = {}
    links: set[tuple[str, str]] = set()
    for path in [*public_paths(language), *(f"/{language}/{path}" for path in more)]:
        if path.endswith("/sign-in/"):
            continue  # sends signed-in users on
        pages[path] = Collected(staff.get(path).content.decode())
        links |= {(path, link) for link in pages[path].links}

    for origin, link in links:
        parts = urlsplit(link)
        assert not parts.scheme and not parts.netloc, f"{origin} links outside: {link}"
        target = parts.path or origin
        if target not in pages:
            response = staff.get(target, follow=True)
            assert response.status_code == 200, f"{origin} → {link}"
            pages[target] = Collected(response.content.decode())
        if parts.fragment:
            assert unquote(parts.fragment) in pages[target].ids, f"{origin} → {link}"
    assert len(links) > 200


@pytest.mark.parametrize("language", ["en", "de"])
def test_texts_link_to_pages_of_their_own_language(site, language):
    other = {"en": "](/de/", "de": "](/en/"}[language]
    for model in (Page, Event, FaqEntry):
        for obj in model.objects.all():
            assert other not in obj.in_language("body", language), obj.slug


def test_nothing_on_a_page_breaks_the_strict_policy(visitor):
    for path in ["/en/", "/de/ask/", "/en/fees/", "/de/sign-in/", "/en/questions/"]:
        response = visitor.get(path)
        policy = response.headers["Content-Security-Policy"]
        assert "script-src 'self';" in policy and "unsafe" not in policy
        assert Collected(response.content.decode()).inline == [], path


@pytest.mark.parametrize("slug", ["makerspace", "tool-library", "rare-collection"])
def test_crew_pages_ask_visitors_to_sign_in(visitor, slug):
    response = visitor.get(f"/de/{slug}/")

    assert response.status_code == 302
    assert response.headers["Location"] == f"/de/sign-in/?next=/de/{slug}/"


def test_crew_pages_stay_shut_to_a_user_without_membership(visitor, django_user_model):
    visitor.force_login(django_user_model.objects.create_user("reader"))

    for path in ["/en/makerspace/", "/en/crew/"]:
        response = visitor.get(path)
        assert response.status_code == 403
        assert b"Laser cutter" not in response.content


def test_members_read_the_crew_pages_but_no_staff_notes(member):
    assert b"Laser cutter" in member.get("/en/makerspace/").content
    assert b"Tool library" in member.get("/en/crew/").content
    assert member.get("/en/staff-notes/").status_code == 404
    assert member.get("/en/staff-notes/fee-waivers/").status_code == 404


def test_crew_titles_are_not_listed_to_visitors(visitor):
    for path in public_paths("en"):
        assert b"Makerspace handbook" not in visitor.get(path).content, path


def test_staff_notes_exist_for_staff_alone(visitor, staff):
    note = StaffNote.objects.get(slug="fee-waivers").get_absolute_url()

    assert visitor.get(note).status_code == 404
    assert b"60 euros per person" in staff.get(note).content


def test_the_page_in_the_other_language_is_one_click_away(visitor):
    links = Collected(visitor.get("/en/fees/").content.decode()).links

    assert "/de/fees/" in links and "/en/fees/" in links


def test_an_unknown_address_is_not_found_in_the_sites_own_look(visitor, settings):
    settings.DEBUG = False
    response = visitor.get("/de/keine-seite/")

    assert response.status_code == 404
    assert "Dieses Regal ist leer" in response.content.decode()


def test_every_page_carries_the_question_box_and_the_answer_page_its_blocks(visitor):
    for path in ["/en/", "/en/fees/", "/en/ask/"]:
        assert "Ask the library …" in visitor.get(path).content.decode(), path
    assert "Fragen Sie die Bibliothek …" in visitor.get("/de/fees/").content.decode()
    answer_page = visitor.get("/en/ask/").content.decode()
    assert "<ai-answers-answer" in answer_page and "<ai-answers-sources" in answer_page


def test_the_page_without_javascript_stands_in_the_sites_frame(visitor):
    html = visitor.get("/ai-answers/ask?agent=library").content.decode()

    assert 'class="site-header"' in html and "library/site.css" in html
    assert 'class="ai-answers-form"' in html and 'method="post"' in html
