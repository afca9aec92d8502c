"""What the whole suite agrees on: which tests need a browser, and that none is skipped in CI.

A ``browser`` test is skipped where Chromium or its driver is missing. With
``AI_ANSWERS_REQUIRE_ALL=1`` a ``browser``, ``servers`` or ``postgresql`` test that is skipped, for
whatever reason, fails instead: a green run has then really driven them all.
"""

from __future__ import annotations

import os
import shutil

import pytest
from django.db import connection
from hypothesis import settings

# The same examples in every run, so that a change is judged by what it changed;
# HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

MUST_RUN = ("browser", "servers", "postgresql")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def missing_browser() -> str:
    """Say what a browser test lacks here; empty when nothing."""
    if not any(map(shutil.which, BROWSERS)):
        return f"none of {', '.join(BROWSERS)} is installed"
    if not shutil.which("chromedriver"):
        return "chromedriver is not installed"
    return ""


def has_one_database() -> bool:
    """Return whether the whole suite runs on PostgreSQL, which then is the ``default`` one."""
    return os.environ.get("AI_ANSWERS_TEST_DATABASE") == "postgresql"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = missing_browser()
    for item in items:
        database = item.get_closest_marker("django_db")
        if database and "postgresql" in (database.kwargs.get("databases") or ()):
            item.add_marker("postgresql")
            if has_one_database():
                database.kwargs["databases"] = ["default"]
        if reason and item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.skip(reason=f"browser test: {reason}"))


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """Let PostgreSQL drop the tests' database at the end, whatever thread still has a session."""
    yield
    if has_one_database():
        # The last test may be one that may not touch the database.
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = yield
    required = os.environ.get("AI_ANSWERS_REQUIRE_ALL") == "1"
    # With one database there are tests that need the other one beside it.
    names = [name for name in MUST_RUN if name != "postgresql" or not has_one_database()]
    marked = [name for name in names if item.get_closest_marker(name)]
    if required and marked and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"This {marked[0]} test must run here, but was skipped. {reason}"
    return report
