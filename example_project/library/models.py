"""What the library publishes: pages, events and questions in two languages, and staff notes.

A text has one column per language (``title_en``, ``title_de``). Two languages that are always
both there need no translation table, and an editor sees them side by side in the admin.
"""

from __future__ import annotations

from django.db import models
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

LANGUAGES = ("en", "de")


class Branch(models.TextChoices):
    CENTRAL = "central", _("Central Library")
    HARBOUR = "harbour", _("Harbour branch")
    NORTH_SHORE = "north-shore", _("North Shore branch")
    MILL_QUARTER = "mill-quarter", _("Mill Quarter branch")
    BOOK_BOAT = "book-boat", _("Book boat")


def short_language(code: str | None = None) -> str:
    """The column suffix for a language code; the active language by default."""
    language = (code or translation.get_language() or "en").partition("-")[0]
    return language if language in LANGUAGES else "en"


class Bilingual(models.Model):
    """A text in English and German, found by its slug."""

    slug = models.SlugField(_("slug"), unique=True)
    title_en = models.CharField(_("title (English)"), max_length=160)
    title_de = models.CharField(_("title (German)"), max_length=160)
    body_en = models.TextField(_("text (English)"), help_text=_("Markdown"))
    body_de = models.TextField(_("text (German)"), help_text=_("Markdown"))
    updated_at = models.DateTimeField(_("updated"), auto_now=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.title

    def in_language(self, field: str, language: str | None = None) -> str:
        """A bilingual field's text: ``page.in_language("title", "de")``."""
        return getattr(self, f"{field}_{short_language(language)}")

    @property
    def title(self) -> str:
        return self.in_language("title")

    @property
    def body(self) -> str:
        return self.in_language("body")


class Summarised(Bilingual):
    """A text with one sentence that stands for it in lists and cards."""

    summary_en = models.CharField(_("summary (English)"), max_length=240)
    summary_de = models.CharField(_("summary (German)"), max_length=240)

    class Meta:
        abstract = True

    @property
    def summary(self) -> str:
        return self.in_language("summary")


class Page(Summarised):
    class Section(models.TextChoices):
        VISIT = "visit", _("Visit")
        BORROW = "borrow", _("Borrow")
        SERVICES = "services", _("Services")
        MEMBERS = "members", _("Crew")

    class Audience(models.TextChoices):
        PUBLIC = "public", _("everyone")
        MEMBERS = "members", _("crew members")

    section = models.CharField(_("section"), max_length=20, choices=Section.choices)
    audience = models.CharField(
        _("audience"), max_length=20, choices=Audience.choices, default=Audience.PUBLIC
    )
    position = models.PositiveSmallIntegerField(_("position"), default=0)

    class Meta:
        ordering = ["section", "position", "slug"]
        verbose_name = _("page")
        verbose_name_plural = _("pages")

    def get_absolute_url(self) -> str:
        return reverse("library:page", args=[self.slug])

    @property
    def is_for_members(self) -> bool:
        return self.audience == self.Audience.MEMBERS


class EventQuerySet(models.QuerySet):
    def upcoming(self) -> EventQuerySet:
        """Events that have not ended yet."""
        return self.filter(ends_at__gte=timezone.now())


class Event(Summarised):
    starts_at = models.DateTimeField(_("starts"))
    ends_at = models.DateTimeField(_("ends"))
    branch = models.CharField(_("branch"), max_length=20, choices=Branch.choices)
    place_en = models.CharField(_("place (English)"), max_length=120)
    place_de = models.CharField(_("place (German)"), max_length=120)
    price_en = models.CharField(_("price (English)"), max_length=120)
    price_de = models.CharField(_("price (German)"), max_length=120)

    objects = EventQuerySet.as_manager()

    class Meta:
        ordering = ["starts_at"]
        verbose_name = _("event")
        verbose_name_plural = _("events")

    def get_absolute_url(self) -> str:
        return reverse("library:event", args=[self.slug])

    @property
    def place(self) -> str:
        return self.in_language("place")

    @property
    def price(self) -> str:
        return self.in_language("price")


class FaqEntry(Bilingual):
    """One question; the title is the question, the text the answer."""

    position = models.PositiveSmallIntegerField(_("position"), default=0)

    class Meta:
        ordering = ["position", "slug"]
        verbose_name = _("question")
        verbose_name_plural = _("questions")

    def get_absolute_url(self) -> str:
        return reverse("library:question", args=[self.slug])


class StaffNote(models.Model):
    """What only staff may read. English only: it is the working language of the back office."""

    slug = models.SlugField(_("slug"), unique=True)
    title = models.CharField(_("title"), max_length=160)
    body = models.TextField(_("text"), help_text=_("Markdown"))
    position = models.PositiveSmallIntegerField(_("position"), default=0)
    updated_at = models.DateTimeField(_("updated"), auto_now=True)

    class Meta:
        ordering = ["position", "slug"]
        verbose_name = _("staff note")
        verbose_name_plural = _("staff notes")

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("library:note", args=[self.slug])
