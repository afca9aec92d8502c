"""Write the text files into the database, one row per slug."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import models, transaction
from django.utils import timezone

from ..access import MEMBERS
from ..models import Event, FaqEntry, Page, StaffNote
from .dates import on
from .files import texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What one load did, in objects."""

    created: int
    changed: int
    unchanged: int

    @property
    def total(self) -> int:
        return self.created + self.changed + self.unchanged


@transaction.atomic
def load() -> Loaded:
    """Load all texts, and the demo's users where ``DEBUG`` is on. Safe to repeat.

    A date of an event moves on with the day of loading. Rows of other slugs, an editor's own
    pages, are left alone.
    """
    done: Counter[str] = Counter()
    for model, kind, values_of in (
        (Page, "pages", page_values),
        (Event, "events", event_values),
        (FaqEntry, "questions", question_values),
        (StaffNote, "notes", note_values),
    ):
        for slug, translations in texts(kind):
            done[upsert(model, slug, values_of(translations))] += 1
    if settings.DEBUG:
        make_demo_users()
    return Loaded(created=done["created"], changed=done["changed"], unchanged=done["unchanged"])


def upsert(model: type[models.Model], slug: str, values: dict) -> str:
    """Create or change the row with this slug; says ``created``, ``changed`` or ``unchanged``."""
    existing = model.objects.filter(slug=slug).first()
    if existing is None:
        model.objects.create(slug=slug, **values)
        return "created"
    if all(getattr(existing, name) == value for name, value in values.items()):
        return "unchanged"
    for name, value in values.items():
        setattr(existing, name, value)
    existing.save()
    return "changed"


def bilingual(translations: dict, *fields: str) -> dict[str, str]:
    return {f"{field}_{code}": text[field] for code, text in translations.items() for field in fields}


def page_values(translations: dict) -> dict:
    facts = translations["en"]
    return {
        "section": Page.Section(facts["section"]),
        "audience": Page.Audience(facts.get("audience", "public")),
        "position": int(facts["position"]),
        **bilingual(translations, "title", "summary", "body"),
    }


def event_values(translations: dict) -> dict:
    facts = translations["en"]
    zone = timezone.get_default_timezone()
    starts_at = on(facts["when"], today=timezone.localdate(timezone=zone), zone=zone)
    return {
        "starts_at": starts_at,
        "ends_at": starts_at + timedelta(minutes=int(facts["minutes"])),
        "branch": facts["branch"],
        **bilingual(translations, "title", "summary", "body", "place", "price"),
    }


def question_values(translations: dict) -> dict:
    facts = translations["en"]
    return {"position": int(facts["position"]), **bilingual(translations, "title", "body")}


def note_values(translations: dict) -> dict:
    facts = translations["en"]
    return {"title": facts["title"], "body": facts["body"], "position": int(facts["position"])}


def make_demo_users() -> None:
    """``member``, ``staff`` and ``admin``, each with its name as password. Never outside DEBUG."""
    members, _ = Group.objects.get_or_create(name=MEMBERS)
    users = get_user_model().objects
    for name, flags in (
        ("member", {}),
        ("staff", {"is_staff": True}),
        ("admin", {"is_staff": True, "is_superuser": True}),
    ):
        if users.filter(username=name).exists():
            continue
        user = users.create_user(name, password=name, **flags)
        if name == "member":
            user.groups.add(members)
