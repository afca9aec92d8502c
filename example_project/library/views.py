"""The site's pages. Views decide who sees what; templates show it."""

from __future__ import annotations

from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from . import hours, markdown
from .access import is_member, is_staff
from .models import Event, FaqEntry, Page, StaffNote

FEATURED = [
    "library-card",
    "library-of-things",
    "rooms",
    "digital-library",
    "children-and-families",
    "book-boat",
]
"""Slugs of the pages on the home page, in order."""


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    pages = {page.slug: page for page in Page.objects.filter(slug__in=FEATURED)}
    return render(
        request,
        "library/home.html",
        {
            "featured": [pages[slug] for slug in FEATURED if slug in pages],
            "today": hours.today(timezone.localtime()),
            "events": Event.objects.upcoming()[:4],
            "questions": FaqEntry.objects.all()[:5],
        },
    )


@require_safe
def ask(request: HttpRequest) -> HttpResponse:
    """The answer page. Its blocks do the work; the page itself is the same for everyone."""
    return render(request, "library/ask.html")


@require_safe
def events(request: HttpRequest) -> HttpResponse:
    return render(request, "library/events.html", {"events": Event.objects.upcoming()})


@require_safe
def event(request: HttpRequest, slug: str) -> HttpResponse:
    found = get_object_or_404(Event, slug=slug)
    others = Event.objects.upcoming().exclude(pk=found.pk)[:3]
    context = {"event": found, "rendered": markdown.render(found.body), "others": others}
    return render(request, "library/event.html", context)


@require_safe
def questions(request: HttpRequest) -> HttpResponse:
    entries = [(entry, markdown.render(entry.body).html) for entry in FaqEntry.objects.all()]
    return render(request, "library/questions.html", {"entries": entries})


@require_safe
def question(request: HttpRequest, slug: str) -> HttpResponse:
    entry = get_object_or_404(FaqEntry, slug=slug)
    others = FaqEntry.objects.exclude(pk=entry.pk)
    context = {"entry": entry, "rendered": markdown.render(entry.body), "others": others}
    return render(request, "library/question.html", context)


@require_safe
def page(request: HttpRequest, slug: str) -> HttpResponse:
    found = get_object_or_404(Page, slug=slug)
    if found.is_for_members and not is_member(request.user):
        return members_door(request)
    siblings = Page.objects.filter(section=found.section, audience=found.audience)
    context = {"page": found, "rendered": markdown.render(found.body), "siblings": siblings}
    return render(request, "library/page.html", context)


@require_safe
def section(request: HttpRequest, section: str) -> HttpResponse:
    chosen = Page.Section(section)
    leads = {
        Page.Section.VISIT: _("Where we are, when we open, and how to get in."),
        Page.Section.BORROW: _("What you need, what you may take home, and what it costs."),
        Page.Section.SERVICES: _("Rooms, machines, help and people who like to give it."),
    }
    pages = Page.objects.filter(section=chosen, audience=Page.Audience.PUBLIC)
    context = {"section": chosen, "lead": leads.get(chosen, ""), "pages": pages}
    return render(request, "library/section.html", context)


@require_safe
def members(request: HttpRequest) -> HttpResponse:
    """The crew's start page: their pages."""
    if not is_member(request.user):
        return members_door(request)
    pages = Page.objects.filter(audience=Page.Audience.MEMBERS)
    return render(request, "library/members.html", {"pages": pages})


def members_door(request: HttpRequest) -> HttpResponse:
    """Ask visitors to sign in; tell users without a membership how to get one."""
    if not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    return render(request, "library/members_only.html", status=403)


@require_safe
def notes(request: HttpRequest) -> HttpResponse:
    require_staff(request)
    return render(request, "library/notes.html", {"notes": StaffNote.objects.all()})


@require_safe
def note(request: HttpRequest, slug: str) -> HttpResponse:
    require_staff(request)
    found = get_object_or_404(StaffNote, slug=slug)
    context = {
        "note": found,
        "rendered": markdown.render(found.body),
        "siblings": StaffNote.objects.all(),
    }
    return render(request, "library/note.html", context)


def require_staff(request: HttpRequest) -> None:
    """To anyone else the notes do not exist."""
    if not is_staff(request.user):
        raise Http404
