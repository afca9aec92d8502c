"""Settings of the test suite: SQLite on disk, because runs use connections of their own.

Under pytest there is a PostgreSQL beside it, for the tests of its index. With
``AI_ANSWERS_TEST_DATABASE=postgresql`` it takes SQLite's place, for the whole suite.
"""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

from . import postgres

BASE_DIR = Path(__file__).parent
SECRET_KEY = "tests-only"
DEBUG = False
ALLOWED_HOSTS = ["*"]
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
USE_I18N = True
STATIC_URL = "static/"
ROOT_URLCONF = "tests.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

_directory = Path(tempfile.mkdtemp(prefix="ai_answers_tests_"))
atexit.register(shutil.rmtree, _directory, ignore_errors=True)

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": _directory / "site.sqlite3",
        "TEST": {"NAME": _directory / "test.sqlite3"},
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
    }
}
DATABASE_ROUTERS = ["tests.routers.TableRouter"]
if "pytest" in sys.modules and not postgres.missing():
    if os.environ.get("AI_ANSWERS_TEST_DATABASE") == "postgresql":
        DATABASES["default"] = postgres.entry()
    else:
        DATABASES["postgresql"] = postgres.entry()
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "ai_answers",
    *([] if postgres.missing() else ["ai_answers.contrib.pgvector"]),
    "tests.site",
    # Behind the app, so that its page frames do not take over other tests.
    "example_project.library",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
AI_ANSWERS = {
    "CHAT_MODELS": {
        "default": {"BACKEND": "ai_answers.chat_models.extractive.ExtractiveChatModel"},
        "scripted": {"BACKEND": "ai_answers.chat_models.scripted.ScriptedChatModel", "TRIES": 1},
    },
    "THROTTLE": {"burst": None, "sustained": None, "feedback": None, "search": None},
    "USER_ACCESS_TAGS": "tests.site.ai_answers.access_tags",
}
