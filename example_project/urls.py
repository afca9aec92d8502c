"""Addresses: the site below its language (``/en/…``, ``/de/…``), the rest without one."""

from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("ai-answers/", include("ai_answers.urls")),
    *i18n_patterns(path("", include("example_project.library.urls"))),
]
