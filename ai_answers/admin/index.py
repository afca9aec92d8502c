"""What is indexed, to look at. The index is changed through ``ai_answers_index`` alone."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Count
from django.urls import path
from django.utils.translation import gettext_lazy as _

from ..models import IndexedChunk, IndexedDocument
from .read_only import ReadOnlyAdmin, ReadOnlyMixin


class IndexedChunkInline(ReadOnlyMixin, admin.StackedInline):
    model = IndexedChunk
    fields = ("heading", "anchor", "text")
    readonly_fields = fields
    extra = 0
    can_delete = False


@admin.register(IndexedDocument)
class IndexedDocumentAdmin(ReadOnlyAdmin):
    list_display = ("title", "entity_type", "entity_id", "language", "index", "chunk_count",
                    "updated_at")  # fmt: skip
    list_filter = ("index", "entity_type", "language")
    search_fields = ("title", "url", "=entity_id")
    fields = ("title", "url", "index", "entity_type", "entity_id", "language", "access_tags",
              "updated_at")  # fmt: skip
    inlines = [IndexedChunkInline]

    def get_urls(self):
        own = self.admin_site.admin_view(self.try_index)
        return [path("try/", own, name="ai_answers_indexeddocument_try"), *super().get_urls()]

    def try_index(self, request):
        from .trying import try_index  # brings NumPy along, so not at every start of the site

        return try_index(request, self.admin_site)

    def get_queryset(self, request):
        return super().get_queryset(request).annotate(chunk_count=Count("chunks"))

    def has_delete_permission(self, request, obj=None) -> bool:
        # Rows deleted here would stay in the full-text table, which has no triggers.
        return False

    @admin.display(description=_("chunks"), ordering="chunk_count")
    def chunk_count(self, document: IndexedDocument) -> int:
        return document.chunk_count

    @admin.display(description=_("access tags"))
    def access_tags(self, document: IndexedDocument) -> str:
        tags = document.tags.values_list("tag", flat=True)
        return ", ".join(sorted(tags)) or _("none: open to everyone")
