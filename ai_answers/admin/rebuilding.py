"""The page that shows the state of each index and starts indexing, with its progress."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from ..checks.settings import alias_entries
from ..exceptions import AnswersError
from ..indexing import is_stale
from ..indexing.jobs import is_alive, start
from ..models import IndexedDocument, IndexingJob
from ..retrieval import get_index

PERMISSION = "ai_answers.change_indexeddocument"


def indexes(request: HttpRequest, site: admin.AdminSite) -> HttpResponse:
    """Show all indexes; a POST starts one of them."""
    if not request.user.has_perm("ai_answers.view_indexeddocument"):
        raise PermissionDenied
    if request.method == "POST":
        return _start(request)
    context = {
        **site.each_context(request),
        "title": _("Indexes"),
        "opts": IndexedDocument._meta,
        "indexes": [_state(alias) for alias in alias_entries("INDEXES")],
        "may_start": request.user.has_perm(PERMISSION),
    }
    return TemplateResponse(request, "admin/ai_answers/indexeddocument/indexes.html", context)


def progress(request: HttpRequest) -> JsonResponse:
    """Tell how far each run is, for the page to show."""
    if not request.user.has_perm("ai_answers.view_indexeddocument"):
        raise PermissionDenied
    return JsonResponse({"jobs": [_job(job) for job in IndexingJob.objects.order_by("index")]})


def _start(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied
    alias = request.POST.get("index", "")
    if alias not in alias_entries("INDEXES"):
        messages.error(request, _("There is no such index."))
    elif start(alias, rebuild="rebuild" in request.POST):
        messages.success(request, _("Indexing has begun."))
    else:
        messages.warning(request, _("This index is being indexed already."))
    return HttpResponseRedirect(reverse("admin:ai_answers_indexeddocument_indexes"))


def _state(alias: str) -> dict[str, Any]:
    job = IndexingJob.objects.filter(index=alias).first()
    state: dict[str, Any] = {"alias": alias, "job": _job(job) if job else None}
    try:
        index = get_index(alias)
        state |= {"stats": index.stats(), "is_read_only": index.is_read_only}
        state["stale"] = is_stale(alias)
    except AnswersError as error:
        state["error"] = str(error)
    return state


def _job(job: IndexingJob) -> dict[str, Any]:
    alive = is_alive(job)
    if alive:
        said = f"{job.source} {job.done}/{job.total}".strip()
    elif job.is_running:
        said = _("Its process has ended before it was done; start it again, it goes on.")
    else:
        said = job.error or job.report
    return {
        "index": job.index,
        "is_running": alive,
        "done": job.done,
        "total": job.total,
        "text": said,
        "is_error": bool(job.error) or (job.is_running and not alive),
        "failures": job.failures,
        "started_at": job.started_at.isoformat(),
    }
