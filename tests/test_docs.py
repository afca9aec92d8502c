"""The reference pages name every setting with its default, and every check, and nothing else."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

from ai_answers.checks.settings import ALIASES
from ai_answers.conf import Settings

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.joinpath("docs").glob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"])
CHECK_ID = re.compile(r"ai_answers\.[EW]\d{3}")


def rows(page):
    """The cells of every table row of a page whose first cell is code."""
    for line in ROOT.joinpath("docs", page).read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| `"):
            yield cells[0].strip("|` "), cells[1].strip("`"), *cells[2:]


def default_of(field):
    default = getattr(Settings(), field.name)
    return dict(default) if isinstance(default, dict) else default


@pytest.mark.parametrize("field", fields(Settings), ids=lambda field: field.name)
def test_every_setting_is_on_the_page_with_its_default(field):
    found = [ast.literal_eval(row[1]) for row in rows("settings.md") if row[0] == field.name]
    assert found == [default_of(field)]


def test_the_page_names_no_setting_that_does_not_exist():
    known = {field.name for field in fields(Settings)}
    known |= ALIASES["INDEXES"] | ALIASES["CHAT_MODELS"]
    assert {row[0] for row in rows("settings.md")} <= known


@pytest.mark.parametrize("kind", ["CHAT_MODELS", "INDEXES"])
def test_every_key_of_an_entry_is_on_the_page(kind):
    documented = {row[0] for row in rows("settings.md")}
    assert ALIASES[kind] - {"BACKEND", "OPTIONS"} <= documented


def test_every_check_is_on_the_page_and_the_page_names_no_other():
    code = {
        check_id
        for module in ROOT.joinpath("ai_answers").rglob("*.py")
        for check_id in CHECK_ID.findall(module.read_text())
    }
    documented = [row[0] for row in rows("checks.md")]
    assert sorted(code) == sorted(documented)


def test_the_page_says_when_each_check_runs():
    assert {row[1] for row in rows("checks.md")} <= {
        "always",
        "--deploy",
        "--database",
        "always; agents with `--database",
    }


def test_every_check_has_a_test():
    tested = set(
        re.findall(r"\b[EW]0\d\d\b", Path(__file__).with_name("test_checks.py").read_text())
    )
    assert {row[0].removeprefix("ai_answers.") for row in rows("checks.md")} <= tested | {"W014"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    # Not what stands in code: a page may show Markdown.
    prose = re.sub(r"```.*?```|`[^`\n]+`", "", page.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_in_the_pages_is_python(page):
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S):
        compile(block, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
