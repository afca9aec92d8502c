"""The example site inside the suite: its addresses, languages and content."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings as suite_settings
from django.core.management import call_command
from django.test import Client
from django.urls import clear_url_caches
from django.utils.formats import reset_format_cache

from example_project import settings as site_settings

LIBRARY = Path(site_settings.__file__).parent / "library"
SAME_AS_SITE = [
    "DEBUG",
    "FORMAT_MODULE_PATH",
    "LANGUAGES",
    "LANGUAGE_CODE",
    "LOGIN_REDIRECT_URL",
    "LOGIN_URL",
    "LOGOUT_REDIRECT_URL",
    "MIDDLEWARE",
    "ROOT_URLCONF",
    "TIME_ZONE",
    "AI_ANSWERS",
]


@pytest.fixture
def site(settings, db):
    """The example site as its own settings describe it, with all content loaded."""
    missing = {"example_project.library", "ai_answers"} - set(suite_settings.INSTALLED_APPS)
    assert not missing, f"add {missing!r} to INSTALLED_APPS of the settings the suite runs with"
    for name in SAME_AS_SITE:
        setattr(settings, name, getattr(site_settings, name))
    # The site lists its app before "ai_answers", the suite behind it: its templates come first.
    settings.TEMPLATES = [{**site_settings.TEMPLATES[0], "DIRS": [LIBRARY / "templates"]}]
    clear_url_caches()
    reset_format_cache()  # a changed FORMAT_MODULE_PATH does not do it by itself
    from example_project.library.content import load
    from example_project.library.demo import set_up_answers

    load()
    set_up_answers()
    yield
    clear_url_caches()
    reset_format_cache()


@pytest.fixture
def indexed(site) -> None:
    call_command("ai_answers_index", verbosity=0)


@pytest.fixture
def visitor(site) -> Client:
    return Client()


@pytest.fixture
def member(site) -> Client:
    return signed_in("member")


@pytest.fixture
def staff(site) -> Client:
    return signed_in("staff")


def signed_in(name: str) -> Client:
    client = Client()
    assert client.login(username=name, password=name)
    return client
