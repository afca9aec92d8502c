"""A run over a source never ends for one bad object: it is counted and named, with the reason."""

import os

import pytest
from django.db import DataError

from ai_answers.exceptions import EmbeddingFailed
from ai_answers.indexing import index_source
from ai_answers.indexing.passes import REFUSALS
from ai_answers.retrieval import get_index
from ai_answers.sources import (
    PublicDirectorySource,
    PublicSource,
    register_source,
    unregister,
)
from tests.retrieval.embedding import ConceptEmbedding
from tests.routers import index_in

pytestmark = pytest.mark.django_db


class Things(PublicSource):
    """Objects that are their own ids; the one called "bad" is bad."""

    name = "things"
    ids = ("bad", "good")

    def get_ids(self):
        return self.ids

    def get_objects(self, ids):
        return {entity_id: entity_id for entity_id in ids}

    def get_id(self, obj):
        return obj

    def get_title(self, obj, language):
        return f"Thing {obj}"

    def get_url(self, obj, language):
        return ""

    def get_content(self, obj, language):
        return "heron"


@pytest.fixture
def indexed():
    """Returns what a run over a source with these methods failed at, and what is found then."""

    def run(base=Things, **methods):
        failures = {}
        source = register_source(type("Odd", (base,), methods)())
        report = index_source(source, on_failure=lambda i, e: failures.update({i: str(e)}))
        assert report.failed == len(failures)
        hits = get_index().search("heron", tags=frozenset({"staff", "7"}), limit=50)
        return failures, sorted(hit.chunk.title for hit in hits)

    yield run
    get_index().clear("things")
    unregister("things")


def only_bad(value, other):
    return lambda self, obj, *language: value if obj == "bad" else other


def fails(*args):
    raise ValueError("broken")


@pytest.mark.parametrize(
    ("methods", "reason"),
    [
        ({"access_tags": only_bad({"sur\udc80"}, set())}, "half a character"),
        ({"access_tags": only_bad({"a\0b"}, set())}, "a NUL"),
        ({"access_tags": only_bad({"x" * 151}, set())}, "150 is the most"),
        ({"access_tags": only_bad(None, set())}, "not iterable"),
        ({"get_languages": only_bad(["x" * 36], ["en"])}, "35 is the most"),
        ({"get_content": lambda s, o, lang: fails() if o == "bad" else "heron"}, "broken"),
        ({"get_anchors": fails, "get_content": only_bad("# A\n\nb", "heron")}, "broken"),
        (
            {"get_objects": lambda s, ids: fails() if "bad" in ids else {i: i for i in ids}},
            "broken",
        ),
        ({"get_ids": lambda s: ["x" * 256, "good"]}, "256 characters"),
        ({"get_ids": lambda s: ["a\0b", "caf\udce9", "good"]}, "No"),
    ],
)
@pytest.mark.parametrize("database", ["default", "postgresql"])
@pytest.mark.django_db(databases="__all__")
def test_one_bad_object_is_named_and_the_others_are_indexed(indexed, methods, reason, database):
    with index_in(database):
        failures, titles = indexed(**methods)
    assert titles == ["Thing good"]
    assert failures
    assert reason == "No" or reason in failures.popitem()[1]


def test_numbers_and_nothing_become_text_and_a_text_alone_is_one(indexed):
    methods = {"access_tags": only_bad("staff", {7}), "get_languages": only_bad("en", [None])}
    failures, titles = indexed(get_ids=lambda self: ["bad", 5, 5], **methods)
    assert failures == {}
    assert titles == ["Thing 5", "Thing bad"]


def test_an_object_that_an_embedding_refuses_is_one_of_many(indexed, embedding, monkeypatch):
    class Refused(Exception):
        status_code = 400

    def embed(self, texts):
        if any("bad" in text for text in texts):
            raise Refused("too long")
        return [[1.0, 0.0]] * len(texts)

    monkeypatch.setattr(ConceptEmbedding, "embed_documents", embed)
    failures, titles = indexed(get_ids=lambda self: [f"good{n}" for n in range(30)] + ["bad"])
    assert list(failures) == ["bad"]
    assert len(titles) == 30
    with pytest.raises(EmbeddingFailed):  # it is not about them when it refuses all
        unregister("things")
        indexed(get_ids=lambda self: [f"bad{n}" for n in range(REFUSALS + 1)])


@pytest.mark.django_db(databases="__all__")
def test_an_object_that_the_database_refuses_is_one_of_many(indexed, monkeypatch):
    put = type(get_index()).put

    def refuse(self, made):
        made = list(made)
        if any(entry.document.key.entity_id == "bad" for entry in made):
            raise DataError("too long")
        put(self, made)

    monkeypatch.setattr(type(get_index()), "put", refuse)
    failures, titles = indexed()
    assert failures == {"bad": "too long"}
    assert titles == ["Thing good"]


def test_a_file_name_that_is_not_utf_8_is_one_of_many(tmp_path, indexed):
    (tmp_path / "good.md").write_text("# Good\n\nA heron.")
    with open(os.path.join(os.fsencode(tmp_path), b"caf\xe9.md"), "w") as file:
        file.write("# Bad\n\nA heron.")

    class Folder(PublicDirectorySource):
        def __init__(self):
            super().__init__(path=tmp_path, name="things")

    failures, titles = indexed(base=Folder)
    assert list(failures) == ["caf?.md"]
    assert titles == ["Good"]
