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
        views = {"try": self.try_index, "indexes": self.indexes, "progress": self.progress}
        own = [
            path(
                f"{name}/",
                self.admin_site.admin_view(view),
                name=f"ai_answers_indexeddocument_{name}",
            )
            for name, view in views.items()
        ]
        return [*own, *super().get_urls()]

    def try_index(self, request):
        from .trying import try_index  # brings NumPy along, so not at every start of the site

        return try_index(request, self.admin_site)

    def indexes(self, request):
        from .rebuilding import indexes

        return indexes(request, self.admin_site)

    def progress(self, request):
        from .rebuilding import progress

        return progress(request)

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
