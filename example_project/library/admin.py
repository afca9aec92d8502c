from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from .models import Event, FaqEntry, Page, StaffNote

ENGLISH = (_("English"), {"fields": ["title_en", "summary_en", "body_en"]})
GERMAN = (_("German"), {"fields": ["title_de", "summary_de", "body_de"]})


@admin.register(Page)
class PageAdmin(admin.ModelAdmin):
    list_display = ["title_en", "title_de", "section", "audience", "updated_at"]
    list_filter = ["section", "audience"]
    search_fields = ["title_en", "title_de", "body_en", "body_de"]
    fieldsets = [
        (None, {"fields": ["slug", ("section", "position"), "audience"]}),
        ENGLISH,
        GERMAN,
    ]


@admin.register(Event)
class EventAdmin(admin.ModelAdmin):
    list_display = ["title_en", "starts_at", "branch", "price_en"]
    list_filter = ["branch"]
    date_hierarchy = "starts_at"
    search_fields = ["title_en", "title_de", "body_en", "body_de"]
    fieldsets = [
        (None, {"fields": ["slug", ("starts_at", "ends_at"), "branch"]}),
        (_("English"), {"fields": [*ENGLISH[1]["fields"], "place_en", "price_en"]}),
        (_("German"), {"fields": [*GERMAN[1]["fields"], "place_de", "price_de"]}),
    ]


@admin.register(FaqEntry)
class FaqEntryAdmin(admin.ModelAdmin):
    list_display = ["title_en", "title_de", "position"]
    search_fields = ["title_en", "title_de", "body_en", "body_de"]
    fieldsets = [
        (None, {"fields": ["slug", "position"]}),
        (_("English"), {"fields": ["title_en", "body_en"]}),
        (_("German"), {"fields": ["title_de", "body_de"]}),
    ]


@admin.register(StaffNote)
class StaffNoteAdmin(admin.ModelAdmin):
    list_display = ["title", "position", "updated_at"]
    search_fields = ["title", "body"]
