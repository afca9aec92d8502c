"""The texts: loaded once however often, complete in both languages, true to each other."""

from __future__ import annotations

import re
from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from example_project.library import hours
from example_project.library.content import load
from example_project.library.content.dates import on
from example_project.library.content.files import parse, texts
from example_project.library.models import Branch, Event, FaqEntry, Page, StaffNote

BERLIN = ZoneInfo("Europe/Berlin")


def test_loading_twice_changes_nothing(site):
    before = {model: model.objects.count() for model in (Page, Event, FaqEntry, StaffNote)}
    stamps = list(Page.objects.order_by("pk").values_list("pk", "updated_at"))

    loaded = load()

    assert (loaded.created, loaded.changed) == (0, 0)
    assert loaded.unchanged == sum(before.values()) >= 40
    assert before == {model: model.objects.count() for model in before}
    assert stamps == list(Page.objects.order_by("pk").values_list("pk", "updated_at"))


def test_loading_restores_a_changed_text_and_leaves_pages_of_editors_alone(site):
    Page.objects.filter(slug="fees").update(title_de="Falsch")
    own = Page.objects.create(slug="own", section="visit", title_en="Own", title_de="Eigen")

    loaded = load()

    assert (loaded.created, loaded.changed) == (0, 1)
    assert Page.objects.get(slug="fees").title_de == "Gebühren"
    assert Page.objects.filter(pk=own.pk).exists()


def test_demo_users_exist_only_while_debugging(site, settings):
    users = get_user_model().objects
    assert set(users.values_list("username", flat=True)) == {"member", "staff", "admin"}

    users.all().delete()
    settings.DEBUG = False
    load()

    assert not users.exists()


def test_every_event_is_still_to_come(site):
    assert Event.objects.upcoming().count() == Event.objects.count() > 5
    assert Event.objects.filter(starts_at__lte=timezone.now()).count() == 0


@pytest.mark.parametrize(
    ("when", "day"),
    [
        ("saturday+0 10:30", date(2026, 12, 5)),
        ("saturday+1 10:30", date(2026, 12, 12)),
        ("tuesday+0 10:30", date(2026, 12, 1)),
        ("monday+0 10:30", date(2026, 12, 7)),
    ],
)
def test_a_date_counts_from_tomorrow(when, day):
    monday = date(2026, 11, 30)
    assert on(when, today=monday, zone=BERLIN) == datetime(
        day.year, day.month, day.day, 10, 30, tzinfo=BERLIN
    )


@pytest.mark.parametrize("when", ["someday+0 10:30", "saturday 10:30", ""])
def test_a_misspelt_date_is_named(when):
    with pytest.raises(ValueError, match="saturday"):
        on(when, today=date(2026, 11, 30), zone=BERLIN)


def test_a_text_without_a_head_is_named(tmp_path):
    path = tmp_path / "bare.en.md"
    path.write_text("Just text\n", encoding="utf-8")

    with pytest.raises(ValueError, match=r"bare\.en\.md"):
        parse(path)


@pytest.mark.parametrize("kind", ["pages", "events", "questions"])
def test_both_languages_state_the_same_numbers(kind):
    """Prices, times and limits must not differ between the languages."""
    for slug, translations in texts(kind):
        found = {code: numbers(text["body"]) for code, text in translations.items()}
        assert set(found) == {"en", "de"}, slug
        assert found["en"] == found["de"], slug


def numbers(text: str) -> list[str]:
    """Times and amounts of a text, sorted; German decimals and thousands read as English."""
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"(\d)\.(\d{3})\b", r"\1\2", re.sub(r"(\d),(\d{3})\b", r"\1\2", text))
    return sorted(re.findall(r"\d+(?:[.:]\d+)?", re.sub(r"(\d),(\d\d)\b", r"\1.\2", text)))


@pytest.mark.parametrize("language", ["en", "de"])
def test_opening_hours_in_words_agree_with_those_in_figures(site, language):
    """Row by row: the table on the page, and the data behind "open until"."""
    table = Page.objects.get(slug="opening-hours").in_language("body", language)
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line[:1] == "|"]
    header, days = rows[0], rows[2:]
    closed = {"en": "closed", "de": "geschlossen"}[language]
    assert len(header) == 5 and len(days) == 7

    for day, row in zip(hours.DAYS, days, strict=True):
        for branch, cell in zip(Branch, row[1:], strict=False):
            opens = hours.weekly()[branch]["days"].get(day)
            assert cell == ("–".join(opens) if opens else closed)


def test_today_knows_whether_a_branch_is_open():
    sunday_noon = datetime(2026, 12, 6, 12, 0, tzinfo=BERLIN)

    lines = {line.branch: line for line in hours.today(sunday_noon)}

    assert lines[Branch.HARBOUR].is_open
    assert lines[Branch.HARBOUR].closes == "16:00"
    assert not lines[Branch.CENTRAL].opens
    at_closing = {line.branch: line for line in hours.today(sunday_noon.replace(hour=16))}
    assert not at_closing[Branch.HARBOUR].is_open
