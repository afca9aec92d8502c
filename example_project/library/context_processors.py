"""What every page of the site shows: menu, footer, the same page in the other language."""

from __future__ import annotations

from django.conf import settings
from django.urls import reverse, translate_url
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from .access import is_staff
from .models import LANGUAGES, Page

SECTIONS = (Page.Section.VISIT, Page.Section.BORROW, Page.Section.SERVICES)


def site(request) -> dict:
    path = request.get_full_path()
    return {
        "menu": SimpleLazyObject(lambda: _menu(request.path)),
        "footer_groups": SimpleLazyObject(_footer_groups),
        "translations": [(code, translate_url(path, code)) for code in LANGUAGES],
        # A page without a user, such as an error page, is a page for everyone.
        "is_library_staff": is_staff(request.user) if hasattr(request, "user") else False,
        "is_demo": settings.DEBUG,
    }


def _menu(path: str) -> list[dict]:
    entries = [(section.label, reverse("library:section", args=[section])) for section in SECTIONS]
    entries += [
        (_("What’s on"), reverse("library:events")),
        (_("Questions"), reverse("library:questions")),
        (Page.Section.MEMBERS.label, reverse("library:members")),
    ]
    return [
        {"label": label, "url": url, "is_current": path.startswith(url)} for label, url in entries
    ]


def _footer_groups() -> list[dict]:
    """Public pages by section. Crew pages have a door of their own."""
    pages = Page.objects.filter(audience=Page.Audience.PUBLIC).defer("body_en", "body_de")
    return [
        {"label": section.label, "pages": [page for page in pages if page.section == section]}
        for section in SECTIONS
    ]
