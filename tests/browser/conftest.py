"""A real Chromium before the example site, served twice from one database.

``quoting_site`` answers with the built-in extractive chat model, ``writing_site`` with a model
server whose texts each test plans. A module has one browser, a test a new tab without cookies
and storage. After each test the console must be empty; after a failed one there is a screenshot.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from ..conftest import BROWSERS
from ..servers import ROOT
from .visitor import Visitor
from .writing_model import WritingModel

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--force-prefers-reduced-motion",  # a smooth scroll would move what is to be clicked
    "--lang=en",
    "--window-size=1280,900",
]
OUTCOME = pytest.StashKey[bool]()


def environment(database: Path, **extra: str) -> dict[str, str]:
    model = {"AI_ANSWERS_MODEL", "AI_ANSWERS_BASE_URL", "OPENAI_API_KEY"}
    inherited = {name: value for name, value in os.environ.items() if name not in model}
    return inherited | {
        "DJANGO_SETTINGS_MODULE": "tests.browser.site_settings",
        "DATABASE_FILE": str(database),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "PYTHONUNBUFFERED": "1",
    } | extra  # fmt: skip


@pytest.fixture(scope="session")
def database(tmp_path_factory) -> Path:
    """The example site's database, set up as its own command does it."""
    file = tmp_path_factory.mktemp("site") / "db.sqlite3"
    command = [sys.executable, "manage.py", "demo", "--no-serve"]
    subprocess.run(command, env=environment(file), cwd=ROOT, check=True, capture_output=True)
    return file


@contextmanager
def serve(database: Path, **extra: str) -> Iterator[str]:
    """Start the site under uvicorn, yield its address, end it after."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "example_project.asgi:application"]
    command += ["--port", str(port), "--log-level", "warning", "--timeout-graceful-shutdown", "2"]
    process = subprocess.Popen(
        command, env=environment(database, **extra), cwd=ROOT, start_new_session=True
    )
    base_url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_up(base_url, process)
        yield base_url
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait_until_up(base_url: str, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 60
    with httpx.Client(base_url=base_url, timeout=20) as client:
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise RuntimeError(f"The server ended with {process.returncode!r}.")
            try:
                client.get("/ai-answers/session").raise_for_status()
                return
            except httpx.TransportError:
                time.sleep(0.1)
    raise RuntimeError("The server did not come up.")


@pytest.fixture(scope="session")
def quoting_site(database) -> Iterator[str]:
    with serve(database) as base_url:
        yield base_url


@pytest.fixture(scope="session")
def model() -> Iterator[WritingModel]:
    with WritingModel() as server:
        yield server


@pytest.fixture(scope="session")
def writing_site(database, model) -> Iterator[str]:
    local = {"AI_ANSWERS_MODEL": "local", "OPENAI_API_KEY": "none"}
    with serve(database, AI_ANSWERS_BASE_URL=model.base_url, **local) as base_url:
        yield base_url


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, BROWSERS)))
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture
def quoting(browser, quoting_site, request, tmp_path) -> Iterator[Visitor]:
    """A visitor of the site whose answers are quotations."""
    yield from new_visitor(browser, quoting_site, request.node, tmp_path)


@pytest.fixture
def writing(browser, writing_site, request, tmp_path) -> Iterator[Visitor]:
    """A visitor of the site whose answers are planned through ``model``."""
    yield from new_visitor(browser, writing_site, request.node, tmp_path)


def new_visitor(browser, base_url: str, test: pytest.Item, folder: Path) -> Iterator[Visitor]:
    before = browser.current_window_handle
    browser.switch_to.new_window("tab")
    tab = browser.current_window_handle
    browser.switch_to.window(before)
    browser.close()
    browser.switch_to.window(tab)
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    visitor = Visitor(browser, base_url)
    visitor.read_console()
    yield visitor
    if not test.stash.get(OUTCOME, True):
        picture = folder / "failure.png"
        browser.save_screenshot(str(picture))
        test.add_report_section("teardown", "screenshot", str(picture))
    assert visitor.read_console() == []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = yield
    if report.when == "call":
        item.stash[OUTCOME] = not report.failed
    return report
