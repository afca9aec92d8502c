import contextlib
import io
import signal

import pytest
from django.core.management import CommandError, call_command

from ai_answers.retrieval import get_index
from ai_answers.sources import PublicDirectorySource, register_source, unregister
from tests.site.models import Article

pytestmark = pytest.mark.django_db


@pytest.fixture
def docs(tmp_path):
    (tmp_path / "gate.md").write_text("# Gate\n\nThe heron gate opens at five.")
    yield register_source(PublicDirectorySource(path=tmp_path, name="docs", base_url="/docs/"))
    with contextlib.suppress(LookupError):  # a test may have taken it out itself
        unregister("docs")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(*arguments, out=None):
    out = out or io.StringIO()
    call_command("ai_answers_index", *arguments, stdout=out, no_color=True)
    return out.getvalue()


def test_all_sources_are_indexed_and_each_says_what_happened(docs):
    Article.objects.create(title="Birds", body="The heron.")
    lines = run().splitlines()
    assert any(line.startswith("default: site.article: 1 added, 0 changed") for line in lines)
    assert lines[-2].startswith("default: docs: 1 added")
    assert lines[-1].startswith("Done: 2 added, 0 changed, 0 unchanged, 0 removed, 2 chunks")
    assert "Done: 0 added, 0 changed, 2 unchanged" in run()


def test_one_source_may_be_named_in_any_case(docs):
    Article.objects.create(title="Birds", body="The heron.")
    assert "docs" not in run("--source", "site.Article")
    with pytest.raises(CommandError, match=r"'nothing'.*site\.article.*docs"):
        run("--source", "nothing")


def test_a_dry_run_counts_and_writes_nothing(docs):
    assert "Dry run: 1 added" in run("--dry-run")
    assert get_index().stats().documents == 0


def test_a_rebuild_writes_again(docs):
    run()
    assert "Done: 0 added, 1 changed, 0 unchanged" in run("--rebuild")


def test_a_source_that_is_no_longer_registered_is_taken_out(docs):
    run()
    unregister("docs")
    assert "docs: no such source any more, 1 removed" in run("--dry-run")
    assert "docs: no such source any more, 1 removed" in run()
    assert get_index().stats().documents == 0


def test_a_terminal_gets_a_bar_and_a_file_plain_lines(docs):
    assert "\r" not in run()
    shown = run("--rebuild", out=Terminal())
    assert "1/1" in shown
    assert "\r" in shown


def test_an_unknown_index_and_a_failing_embedding_end_with_an_error(docs, embedding):
    with pytest.raises(CommandError, match="'nowhere'"):
        run("--index", "nowhere")
    embedding.is_down = True
    with pytest.raises(CommandError, match="embedding service away"):
        run()


class Broken(PublicDirectorySource):
    """A folder of which some files cannot be read."""

    def get_content(self, obj, language):
        if obj.path.startswith("bad"):
            raise ValueError(f"{obj.path} is \x1b[2J broken\nand says more")
        return super().get_content(obj, language)


def failing(folder, *, bad):
    for number in range(bad):
        (folder / f"bad{number}.md").write_text("# Bad")
    (folder / "good.md").write_text("# Good\n\nThe heron gate.")
    out, errors = io.StringIO(), io.StringIO()
    source = register_source(Broken(path=folder, name="docs"))
    try:
        with pytest.raises(CommandError) as failed:
            call_command("ai_answers_index", stdout=out, stderr=errors, no_color=True)
    finally:
        unregister(source)
    return str(failed.value), errors.getvalue().splitlines()


def test_an_object_that_cannot_be_read_is_named_once_for_all_indexes(tmp_path, settings):
    two = {alias: {"BACKEND": "ai_answers.retrieval.database.DatabaseIndex"} for alias in "ab"}
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"INDEXES": two}
    said, lines = failing(tmp_path, bad=1)
    assert said == "1 object could not be read; --traceback shows where."
    assert lines == ["docs bad0.md: ValueError: bad0.md is [2J broken"]
    assert get_index("b").stats().documents == 1


def test_only_the_first_objects_that_cannot_be_read_are_named(tmp_path):
    said, lines = failing(tmp_path, bad=7)
    assert said.startswith("7 objects could not be read")
    assert [line.partition(":")[0] for line in lines[:5]] == [f"docs bad{n}.md" for n in range(5)]
    assert lines[5:] == ["… and 2 more"]


def test_nothing_is_said_at_verbosity_zero(docs):
    assert run("--verbosity", "0") == ""


class Interrupted(PublicDirectorySource):
    """A folder in which Ctrl-C is pressed when the last file is read."""

    presses = 1

    def get_content(self, obj, language):
        if self.presses and obj.path == "page399.md":
            self.presses -= 1
            signal.raise_signal(signal.SIGINT)
        return super().get_content(obj, language)


@pytest.mark.parametrize("out", [io.StringIO, Terminal])
def test_ctrl_c_ends_with_one_line_and_the_next_run_goes_on(tmp_path, out):
    for number in range(400):
        (tmp_path / f"page{number:03}.md").write_text(f"# Page {number}\n\nThe heron gate.")
    source = register_source(Interrupted(path=tmp_path, name="docs"))
    errors = io.StringIO()
    try:
        with pytest.raises(SystemExit) as ended:
            call_command("ai_answers_index", stdout=out(), stderr=errors, no_color=True)
        assert ended.value.code == 130
        assert errors.getvalue().splitlines() == [
            "Stopped. What was written stays; the next run goes on from there."
        ]
        written = get_index().stats().documents
        assert 0 < written < 400
        assert f"Done: {400 - written} added, 0 changed, {written} unchanged" in run()
        assert get_index().stats().documents == 400
    finally:
        unregister(source)
