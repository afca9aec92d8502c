"""What answers may be written from: pages, events and questions for all, notes for staff.

Found by autodiscovery. Titles and addresses come from the models, in the language asked for.
``access_tags`` keeps what an asker may not read out of the search, ``can_view`` asks again before
a text may reach the model; both follow ``access.py``.
"""

from __future__ import annotations

from django.utils import timezone, translation
from django.utils.formats import date_format

from ai_answers.sources import PublicSource, Source, register
from ai_answers.tools import register_tool

from .access import MEMBERS, STAFF, is_member, is_staff
from .models import LANGUAGES, Event, FaqEntry, Page, StaffNote

register_tool("example_project.library.tools.events_between", "events_between")


@register(Page)
class PageSource(Source):
    fields = ["summary", "body"]

    def get_languages(self, obj) -> list[str]:
        return list(LANGUAGES)

    def get_content(self, obj, language: str) -> str:
        return f"{obj.in_language('summary', language)}\n\n{obj.in_language('body', language)}"

    def access_tags(self, obj) -> set[str]:
        return {MEMBERS} if obj.is_for_members else set()

    def can_view(self, asker, obj) -> bool:
        return not obj.is_for_members or is_member(asker.user)


@register(Event)
class EventSource(PublicSource):
    fields = ["starts_at", "ends_at", "branch", "place", "price", "summary", "body"]

    def get_queryset(self):
        return Event.objects.upcoming()

    def get_languages(self, obj) -> list[str]:
        return list(LANGUAGES)

    def get_content(self, obj, language: str) -> str:
        """Date, place and price are columns of the table; an answer needs them in words."""
        with translation.override(language):
            starts_at, ends_at = (
                timezone.localtime(moment, timezone.get_default_timezone())
                for moment in (obj.starts_at, obj.ends_at)
            )
            day = f"{date_format(starts_at, 'l')}, {date_format(starts_at, 'DATE_FORMAT')}"
            place = f"{obj.get_branch_display()}, {obj.place}"
            facts = f"{day}, {starts_at:%H:%M}–{ends_at:%H:%M} · {place} · {obj.price}"
            return f"{facts}\n\n{obj.summary}\n\n{obj.body}"


@register(FaqEntry)
class FaqEntrySource(PublicSource):
    fields = ["body"]

    def get_languages(self, obj) -> list[str]:
        return list(LANGUAGES)


@register(StaffNote)
class StaffNoteSource(Source):
    fields = ["body"]

    def get_languages(self, obj) -> list[str]:
        return ["en"]

    def access_tags(self, obj) -> set[str]:
        return {STAFF}

    def can_view(self, asker, obj) -> bool:
        return is_staff(asker.user)
