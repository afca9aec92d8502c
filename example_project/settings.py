"""Settings of the example site: SQLite, no service besides Django, nothing to configure.

Environment: ``DEBUG`` (default 1), ``SECRET_KEY``, ``ALLOWED_HOSTS`` (comma-separated),
``DATABASE_FILE``, and for a real chat model ``AI_ANSWERS_MODEL``, ``AI_ANSWERS_BASE_URL`` and
``OPENAI_API_KEY``. Without a model name the built-in extractive model quotes the sources.
"""

import os
from pathlib import Path

from django.utils.translation import gettext_lazy as _

BASE_DIR = Path(__file__).resolve().parent.parent

DEBUG = os.environ.get("DEBUG", "1").lower() in ("1", "true", "yes", "on")
# Good enough for a demo on one's own machine and refused anywhere else.
DEVELOPMENT_KEY = "django-insecure-brackhaven-library-demo"
SECRET_KEY = os.environ.get("SECRET_KEY") or (DEVELOPMENT_KEY if DEBUG else "")
ALLOWED_HOSTS = [host for host in os.environ.get("ALLOWED_HOSTS", "").split(",") if host]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    # runserver leaves static files to WhiteNoise, as every other server does here.
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    # Before "ai_answers", so that the site's own ai_answers/base.html comes first.
    "example_project.library",
    "ai_answers",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "example_project.library.middleware.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "example_project.urls"
WSGI_APPLICATION = "example_project.wsgi.application"
ASGI_APPLICATION = "example_project.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "example_project.library.context_processors.site",
            ],
        },
    },
]

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("DATABASE_FILE") or BASE_DIR / "db.sqlite3",
        # Readers never wait for a writer (WAL), and a writer waits for its turn at the start of
        # its transaction instead of failing in the middle of it (IMMEDIATE).
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            "timeout": 20,
        },
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("de", _("German"))]
FORMAT_MODULE_PATH = "example_project.formats"
USE_I18N = True
USE_TZ = True
TIME_ZONE = "Europe/Berlin"

STATIC_URL = "/static/"
# Serve from the apps' own folders, so that no server needs collectstatic first.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

LOGIN_URL = "library:login"
LOGIN_REDIRECT_URL = "library:members"
LOGOUT_REDIRECT_URL = "library:home"


def chat_model() -> dict:
    """Any OpenAI-compatible endpoint when a model is named, else the built-in one."""
    model = os.environ.get("AI_ANSWERS_MODEL")
    if not model:
        return {"BACKEND": "ai_answers.chat_models.extractive.ExtractiveChatModel"}
    options = {"model": model}
    if base_url := os.environ.get("AI_ANSWERS_BASE_URL"):
        options["base_url"] = base_url
    if api_key := os.environ.get("OPENAI_API_KEY"):
        options["api_key"] = api_key
    return {"BACKEND": "langchain_openai.ChatOpenAI", "OPTIONS": options}


AI_ANSWERS = {
    "CHAT_MODELS": {"default": chat_model()},
    "INDEXES": {"default": {"BACKEND": "ai_answers.retrieval.database.DatabaseIndex"}},
    "USER_ACCESS_TAGS": "example_project.library.access.tags_for",
}
