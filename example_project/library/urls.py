"""Addresses of the site, below the language. Pages come last: their slug may be any word."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path, re_path

from . import views

app_name = "library"

urlpatterns = [
    path("", views.home, name="home"),
    path("ask/", views.ask, name="ask"),
    path("events/", views.events, name="events"),
    path("events/<slug:slug>/", views.event, name="event"),
    path("questions/", views.questions, name="questions"),
    path("questions/<slug:slug>/", views.question, name="question"),
    re_path(r"^(?P<section>visit|borrow|services)/$", views.section, name="section"),
    path("crew/", views.members, name="members"),
    path("staff-notes/", views.notes, name="notes"),
    path("staff-notes/<slug:slug>/", views.note, name="note"),
    path("sign-in/", LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("sign-out/", LogoutView.as_view(), name="logout"),
    path("<slug:slug>/", views.page, name="page"),
]
