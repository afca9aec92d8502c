import os

import pytest
from django.contrib.auth.models import AnonymousUser

from ai_answers.exceptions import ConfigurationError
from ai_answers.sources import (
    DirectorySource,
    PublicDirectorySource,
    register_source,
    unregister,
)
from ai_answers.sources.access import viewable
from ai_answers.values import Asker, ObjectKey


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "docs"
    (root / "guide").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".git" / "config.md").write_text("# no")
    (root / "index.md").write_text("# Welcome\n\nStart here.\n")
    (root / "guide" / "index.md").write_text("Guide\n=====\n\nRead on.\n")
    (root / "guide" / "first steps.md").write_text(
        "---\ntitle: First steps\n---\n<!-- draft: key 7 -->\nGo.\n\n```html\n<!-- kept -->\n```\n"
    )
    (root / "old.html").write_text("<title>Old page</title><main><p>Old text</main>")
    (root / "opening_hours.txt").write_text("Nine to five.")
    (root / "logo.png").write_bytes(b"\x89PNG")
    (tmp_path / "secret.md").write_text("# Secret")
    return root


@pytest.fixture
def source(folder):
    return PublicDirectorySource(path=folder, name="docs", base_url="/docs/", language="en")


def documents(source):
    return {
        path: next(source.documents(file))
        for path, file in source.get_objects(source.get_ids()).items()
    }


def test_markdown_html_and_text_files_become_documents_with_title_and_url(source):
    found = documents(source)

    assert {path: (d.title, d.url) for path, d in found.items()} == {
        "index.md": ("Welcome", "/docs/"),
        "guide/index.md": ("Guide", "/docs/guide/"),
        "guide/first steps.md": ("First steps", "/docs/guide/first%20steps/"),
        "old.html": ("Old page", "/docs/old/"),
        "opening_hours.txt": ("Opening hours", "/docs/opening_hours/"),
    }
    assert found["old.html"].text == "Old text"
    assert found["index.md"].key == ObjectKey("docs", "index.md")
    assert found["index.md"].language == "en"


def test_front_matter_and_comments_are_not_read_but_code_is_kept(source):
    text = documents(source)["guide/first steps.md"].text
    assert "draft" not in text
    assert "title:" not in text
    assert "<!-- kept -->" in text


def test_addresses_may_have_another_shape(folder):
    source = PublicDirectorySource(path=folder, name="docs", url_for=lambda path: f"/d?f={path}")
    assert documents(source)["old.html"].url == "/d?f=old.html"


def test_no_link_and_no_id_leads_out_of_the_folder(source, folder, tmp_path):
    os.symlink(tmp_path / "secret.md", folder / "link.md")
    os.symlink(tmp_path, folder / "outside")
    os.symlink(folder / "index.md", folder / "inside.md")

    ids = source.get_ids()

    assert "link.md" not in ids
    assert "inside.md" in ids
    assert not [path for path in ids if path.startswith("outside")]
    tried = ["../secret.md", "link.md", "outside/secret.md", "/etc/hosts", ".git/config.md", "",
             str(tmp_path / "secret.md"), "index.md\0", "logo.png", "no/such.md"]  # fmt: skip
    assert source.get_objects(tried) == {}


def test_a_deleted_file_is_gone_and_an_edited_one_is_read_anew(source, folder):
    asker, key = Asker(user=AnonymousUser()), ObjectKey("docs", "index.md")
    register_source(source)
    try:
        assert key in viewable([key], asker)
        (folder / "index.md").write_text("# Changed\n\nNew.")
        assert documents(source)["index.md"].title == "Changed"
        (folder / "index.md").unlink()
        assert viewable([key], asker) == {}
    finally:
        unregister("docs")


def test_a_directory_is_closed_unless_it_says_who_may_read(folder):
    with pytest.raises(TypeError, match="can_view"):
        DirectorySource(path=folder, name="docs")


def test_can_view_decides_by_path(folder):
    class Guides(DirectorySource):
        def can_view(self, asker, file):
            return file.path.startswith("guide/")

    register_source(Guides(path=folder, name="guides"))
    try:
        keys = [ObjectKey("guides", "index.md"), ObjectKey("guides", "guide/index.md")]
        assert list(viewable(keys, Asker(user=AnonymousUser()))) == keys[1:]
    finally:
        unregister("guides")


def test_a_path_that_is_no_folder_is_an_error_that_shows_it(tmp_path):
    with pytest.raises(ConfigurationError, match="nowhere"):  # not "all files were deleted"
        PublicDirectorySource(path=tmp_path / "nowhere", name="docs").get_ids()
