"""The page on which to try an index: a query, and what became of everything that was found.

For staff who may look at the index: it shows titles of objects that an asker may not see, that
being the question it answers. A query is posted, so it stands in no server's log.
"""

from __future__ import annotations

import time
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from ..agents.search import AMOUNT
from ..checks.settings import alias_entries
from ..conf import app_settings
from ..exceptions import AnswersError
from ..models import IndexedDocument
from ..rendering.references import safe_url
from ..retrieval import explain, get_index, score_kind_of
from ..retrieval.diagnosis import REASONS, diagnose
from ..values import Asker, ObjectKey


class TryForm(forms.Form):
    index = forms.ChoiceField(label=_("Index"))
    query = forms.CharField(
        label=_("Query"), widget=forms.TextInput(attrs={"class": "vTextField", "autofocus": True})
    )
    user = forms.CharField(
        label=_("Search as"),
        required=False,
        help_text=_("A user name; empty: an anonymous visitor."),
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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
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
        name = self.cleaned_data["user"].strip()
        if not name:
            return AnonymousUser()
        model = get_user_model()
        try:
            return model._default_manager.get_by_natural_key(name)
        except model.DoesNotExist:
            raise forms.ValidationError(_("There is no user of this name.")) from None

    def clean_object(self) -> ObjectKey | None:
        written = self.cleaned_data["object"].strip()
        if not written:
            return None
        name, _colon, entity_id = written.partition(":")
        if not name or not entity_id:
            raise forms.ValidationError(_("Must be like blog.article:7."))
        return ObjectKey(name.lower(), entity_id)


def try_index(request: HttpRequest, site: admin.AdminSite) -> HttpResponse:
    """Show the form and, after a POST, what the search found."""
    if not request.user.has_perm("ai_answers.view_indexeddocument"):
        raise PermissionDenied
    form = TryForm(request.POST or None)
    context = {
        **site.each_context(request),
        "title": _("Try an index"),
        "opts": IndexedDocument._meta,
        "form": form,
    }
    if request.method == "POST" and form.is_valid():
        context |= _searched(form.cleaned_data)
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
