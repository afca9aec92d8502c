"""The page on which to try an index: a query, and what became of everything that was found.

For staff who may look at the index: it names objects that an asker may not see, that being the
question it answers. Their text takes ``view_indexedchunk`` on top. A query is posted, so it stands
in no server's log.
"""

from __future__ import annotations

import time
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, reverse
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from ..agents.search import AMOUNT
from ..checks.settings import alias_entries
from ..conf import app_settings
from ..exceptions import AnswersError
from ..indexing.diagnosis import REASONS, diagnose
from ..models import IndexedDocument
from ..rendering.references import safe_url
from ..retrieval import explain, get_index, score_kind_of
from ..sources import get_source, parse_key
from ..values import Asker, ObjectKey


class TryForm(forms.Form):
    index = forms.ChoiceField(label=_("Index"))
    query = forms.CharField(
        label=_("Query"), widget=forms.TextInput(attrs={"class": "vTextField", "autofocus": True})
    )
    asker = forms.ChoiceField(
        label=_("Search as"),
        required=False,
        choices=[("", _("an anonymous visitor")), ("me", _("yourself"))],
    )
    user = forms.CharField(
        label=_("Or as user"),
        required=False,
        help_text=_("A user name, or an id."),
    )
    language = forms.CharField(
        label=_("Language"), required=False, help_text=_("Empty: the one you use now.")
    )
    amount = forms.IntegerField(label=_("Amount"), min_value=1, max_value=200, initial=AMOUNT)
    min_score = forms.FloatField(label=_("Lowest score"), required=False)
    object = forms.CharField(
        label=_("Object"),
        required=False,
        help_text=_("Such as blog.article:7; says why it is or is not found."),
    )

    def __init__(self, *args: Any, me: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.me = me
        self.fields["index"].choices = [(name, name) for name in alias_entries("INDEXES")]

    def clean_query(self) -> str:
        query = self.cleaned_data["query"]
        limit = app_settings().MAX_QUESTION_CHARS
        if len(query) > limit:
            raise forms.ValidationError(
                _("Has %(length)d characters; at most %(limit)d are possible."),
                params={"length": len(query), "limit": limit},
            )
        return query

    def clean_user(self) -> Any:
        """Return who searches; a user that is named goes before the choice above."""
        name = self.cleaned_data["user"].strip()
        if not name:
            return self.me if self.cleaned_data.get("asker") == "me" else AnonymousUser()
        users = get_user_model()._default_manager
        for found in (users.get_by_natural_key, lambda pk: users.get(pk=pk)):
            try:
                return found(name)
            except (users.model.DoesNotExist, ValueError, ValidationError):
                continue
        raise forms.ValidationError(_("There is no user of this name."))

    def clean_object(self) -> ObjectKey | None:
        written = self.cleaned_data["object"].strip()
        if not written:
            return None
        key = parse_key(written)
        if key is None:
            raise forms.ValidationError(_("Must be like blog.article:7."))
        return key


def try_index(request: HttpRequest, site: admin.AdminSite) -> HttpResponse:
    """Show the form and, after a POST, what the search found."""
    if not request.user.has_perm("ai_answers.view_indexeddocument"):
        raise PermissionDenied
    form = TryForm(
        request.POST or None, me=request.user, initial={"index": request.GET.get("index")}
    )
    context = {
        **site.each_context(request),
        "title": _("Try an index"),
        "opts": IndexedDocument._meta,
        "form": form,
        "may_read": request.user.has_perm("ai_answers.view_indexedchunk"),
    }
    if request.method == "POST" and form.is_valid():
        context |= _searched(form.cleaned_data)
        for row in context.get("rows", ()):
            chunk = row["candidate"].hit.chunk
            row |= {"url": safe_url(chunk.url), "admin_url": _admin_url(chunk.key, request, site)}
    return TemplateResponse(request, "admin/ai_answers/indexeddocument/try.html", context)


def _searched(data: dict[str, Any]) -> dict[str, Any]:
    asker = Asker(user=data["user"], language=data["language"] or get_language() or "")
    how = {"asker": asker, "amount": data["amount"], "min_score": data["min_score"]}
    alias, query = data["index"], data["query"]
    started = time.perf_counter()
    try:
        explanation = explain(alias, query, **how)
        seconds = time.perf_counter() - started
        stats = get_index(alias).stats()
        expected = score_kind_of(alias)
        found = diagnose(alias, query, data["object"], **how) if data["object"] else None
    except AnswersError as error:
        return {"error": f"{error} {error.__cause__ or ''}".strip()}
    kinds = explanation.kinds
    return {
        "kinds": kinds,
        "rows": [
            {
                "candidate": candidate,
                "url": safe_url(candidate.hit.chunk.url),
                "scores": [candidate.hit.scores.get(kind) for kind in kinds],
                "fate": REASONS[candidate.fate],
            }
            for candidate in explanation.candidates
        ],
        "explanation": explanation,
        "expected_kind": expected,
        "diagnosis": found,
        "milliseconds": round(seconds * 1000),
        "stats": stats,
        "searched": True,
    }


def _admin_url(key: ObjectKey, request: HttpRequest, site: admin.AdminSite) -> str:
    """Return where the object is edited; empty where it is not, or not by this user."""
    source = get_source(key.entity_type)
    owner = site._registry.get(source.model) if source and source.model else None
    if owner is None or not owner.has_view_permission(request):
        return ""
    opts = source.model._meta
    try:
        name = f"{site.name}:{opts.app_label}_{opts.model_name}_change"
        return reverse(name, args=[key.entity_id])
    except NoReverseMatch:
        return ""
