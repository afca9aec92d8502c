"""The page of the indexes: how each one is, and a button that indexes it on a thread.

Looking takes ``view_indexingjob``, starting and stopping ``start_indexing``. The page's script
asks for ``state`` each second while something runs; without it, one loads the page again.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from ..checks.settings import alias_entries
from ..indexing.jobs import has_died, is_running, start_job, stop_job
from ..indexing.overview import overview
from ..models import IndexingJob

PAGE = "ai_answers_indexingjob_changelist"


def may_start(request: HttpRequest) -> bool:
    return request.user.has_perm("ai_answers.start_indexing")


def may_look(request: HttpRequest) -> bool:
    return may_start(request) or request.user.has_perm("ai_answers.view_indexingjob")


def show_indexes(request: HttpRequest, site: AdminSite) -> HttpResponse:
    if not may_look(request):
        raise PermissionDenied
    jobs = _jobs()
    aliases = list(alias_entries("INDEXES"))
    context = {
        **site.each_context(request),
        "title": _("Indexes"),
        "opts": IndexingJob._meta,
        "indexes": [
            {"overview": overview(alias), "job": jobs.get(alias), **_state(jobs.get(alias))}
            for alias in aliases
        ],
        "may_start": may_start(request),
        "may_try": request.user.has_perm("ai_answers.view_indexeddocument"),
    }
    return TemplateResponse(request, "admin/ai_answers/indexingjob/indexes.html", context)


@require_POST
def start(request: HttpRequest, site: AdminSite) -> HttpResponse:
    alias = _alias(request)
    rebuild = request.POST.get("how") == "rebuild"
    if alias is None or overview(alias).is_read_only:
        messages.error(request, _("There is no such index to write to."))
    elif start_job(alias, rebuild=rebuild, user=request.user):
        messages.success(request, _("Indexing has begun: %(index)s.") % {"index": alias})
    else:
        messages.warning(request, _("It is being indexed already: %(index)s.") % {"index": alias})
    return redirect(f"{site.name}:{PAGE}")


@require_POST
def stop(request: HttpRequest, site: AdminSite) -> HttpResponse:
    alias = _alias(request)
    if alias is not None and stop_job(alias):
        messages.success(request, _("It will stop behind what it is writing now."))
    else:
        messages.warning(request, _("Nothing is being indexed there."))
    return redirect(f"{site.name}:{PAGE}")


def state(request: HttpRequest, site: AdminSite) -> JsonResponse:
    if not may_look(request):
        raise PermissionDenied
    jobs = _jobs()
    return JsonResponse({alias: _state(jobs.get(alias)) for alias in alias_entries("INDEXES")})


def _alias(request: HttpRequest) -> str | None:
    if not may_start(request):
        raise PermissionDenied
    alias = request.POST.get("index")
    return alias if alias in alias_entries("INDEXES") else None


def _jobs() -> dict[str, IndexingJob]:
    return {job.index: job for job in IndexingJob.objects.select_related("started_by")}


def _state(job: IndexingJob | None) -> dict[str, Any]:
    """Return what changes while an index is written, fit for JSON."""
    if job is None:
        return {"is_running": False, "has_died": False, "status": "", "done": 0, "total": 0}
    return {
        "is_running": is_running(job),
        "has_died": has_died(job),
        "status": _status(job),
        "done": job.done,
        "total": job.total,
    }


def _status(job: IndexingJob) -> str:
    """Say in a line where a running one is."""
    if not is_running(job):
        return ""
    if job.stop_requested:
        return _("Stopping …")
    if not job.source:
        return _("Starting …")
    if job.total:
        said = _("%(source)s: %(done)d of %(total)d") % {
            "source": job.source, "done": job.done, "total": job.total,
        }  # fmt: skip
    else:  # not yet counted
        said = _("%(source)s …") % {"source": job.source}
    failed = len(job.failures)
    return f"{said}; {_('could not be read: %(count)d') % {'count': failed}}" if failed else said
