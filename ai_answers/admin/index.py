"""What is indexed, to look at, to try and to bring in step. Rows are written by the index alone.

The pages of our own, ``trying`` and ``indexing``, are imported when somebody opens them: they
bring the retrieval along, which a process that only starts should not pay for.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from django.contrib import admin
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _

from ..models import IndexedChunk, IndexedDocument, IndexingJob
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

    def get_urls(self) -> list[URLPattern]:
        return [_page(self, "try/", "trying.try_index", name="try"), *super().get_urls()]

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


@admin.register(IndexingJob)
class IndexingJobAdmin(ReadOnlyAdmin):
    """One page in place of a list: the row is only the latest news of an index."""

    def get_urls(self) -> list[URLPattern]:
        return [
            _page(self, "", "indexing.show_indexes", name="changelist"),
            _page(self, "start/", "indexing.start", name="start"),
            _page(self, "stop/", "indexing.stop", name="stop"),
            _page(self, "state/", "indexing.state", name="state"),
        ]

    def has_view_permission(self, request, obj=None) -> bool:
        may = request.user.has_perm
        return may("ai_answers.view_indexingjob") or may("ai_answers.start_indexing")

    def has_delete_permission(self, request, obj=None) -> bool:
        return False


def _page(owner: admin.ModelAdmin, route: str, view: str, *, name: str) -> URLPattern:
    """Return the route to ``module.function`` beside this one, for those who are staff."""
    site = owner.admin_site
    names = f"{owner.opts.app_label}_{owner.opts.model_name}_{name}"
    return path(route, site.admin_view(partial(_call, view, site)), name=names)


def _call(view: str, site: Any, request: HttpRequest) -> HttpResponse:
    request.current_app = site.name  # for the links of the page
    module, _dot, function = view.partition(".")
    return getattr(import_module(f".{module}", __package__), function)(request, site)
