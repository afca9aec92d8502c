from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("ai-answers/", include("ai_answers.urls")),
    path("admin/", admin.site.urls),
    path("", include("tests.site.urls")),
]
