import contextlib
import io

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


def test_nothing_is_said_at_verbosity_zero(docs):
    assert run("--verbosity", "0") == ""
