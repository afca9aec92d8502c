"""What every index backend must do. Subclass it, give ``index``, and mark it for the database."""

from __future__ import annotations

import pytest

from ai_answers.retrieval import Entry, Stored
from ai_answers.values import Chunk, Document, ObjectKey


def key(number) -> ObjectKey:
    return ObjectKey("page", str(number))


def entry(number, text, *, language="en", tags=(), title="", checksum="c", vectors=None):
    document = Document(
        key=key(number), language=language, title=title, url=f"/{number}/", text=text,
        access_tags=frozenset(tags),
    )  # fmt: skip
    chunks = [
        Chunk(id=None, key=key(number), language=language, position=position, text=piece,
              title=title, url=document.url, heading="Part", anchor="part")
        for position, piece in enumerate(text.split("|"))
    ]  # fmt: skip
    stored = Stored(checksum=checksum, fingerprint="f", embedding="e" if vectors else "")
    return Entry(document=document, stored=stored, chunks=chunks, vectors=vectors)


def found(index, query, *, tags=(), limit=10):
    hits = index.search(query, tags=frozenset(tags), limit=limit)
    return [hit.chunk.key.entity_id for hit in hits]


class IndexContract:
    def test_what_is_put_is_found_with_all_that_a_chunk_carries(self, index):
        index.put([entry(1, "The heron stands.|It waits.", title="Birds")])

        [hit, *_] = index.search("heron", tags=frozenset(), limit=5)

        chunk = hit.chunk
        assert (chunk.key, chunk.language, chunk.position) == (key(1), "en", 0)
        assert (chunk.title, chunk.url, chunk.heading, chunk.anchor) == (
            "Birds", "/1/", "Part", "part",
        )  # fmt: skip
        assert chunk.text == "The heron stands."
        assert hit.score > 0

    def test_hits_come_best_first_with_one_kind_of_score(self, index):
        index.put(
            [entry(1, "heron heron heron"), entry(2, "heron and gull"), entry(3, "gull")]
            + [entry(n, f"filler number {n}") for n in range(4, 12)]
        )
        hits = index.search("heron", tags=frozenset(), limit=10)
        assert [hit.chunk.key.entity_id for hit in hits] == ["1", "2"]
        assert hits[0].score > hits[1].score
        assert len({hit.score_kind for hit in hits}) == 1

    def test_one_word_of_many_is_enough(self, index):
        index.put([entry(1, "the heron stands in the reeds"), entry(2, "a lorry")])
        assert found(index, "where would I see a heron while driving to Oslo") == ["1"]

    def test_putting_again_replaces(self, index):
        index.put([entry(1, "heron")])
        index.put([entry(1, "gull", checksum="d")])
        assert found(index, "heron") == []
        assert found(index, "gull") == ["1"]
        assert index.stats().documents == index.stats().chunks == 1

    def test_languages_of_an_object_are_apart(self, index):
        index.put([entry(1, "heron"), entry(1, "Reiher", language="de")])
        assert index.remove_documents([(key(1), "en")]) == 1
        assert found(index, "heron") == []
        assert found(index, "Reiher") == ["1"]

    def test_removing_takes_all_languages_and_nothing_else(self, index):
        index.put([entry(1, "heron"), entry(1, "Reiher", language="de"), entry(2, "heron")])
        assert index.remove([key(1), key(99)]) == 2
        assert found(index, "heron reiher") == ["2"]

    def test_only_open_documents_or_those_with_one_of_the_tags(self, index):
        index.put(
            [
                entry(1, "heron"),
                entry(2, "heron", tags=["members"]),
                entry(3, "heron", tags=["staff", "members"]),
            ]
        )
        assert sorted(found(index, "heron")) == ["1"]
        assert sorted(found(index, "heron", tags=["members"])) == ["1", "2", "3"]
        assert sorted(found(index, "heron", tags=["staff", "x"])) == ["1", "3"]

    def test_the_limit_is_filled_past_what_is_closed(self, index):
        closed = [entry(n, "heron " * 5, tags=["staff"]) for n in range(150)]
        index.put([*closed, entry(900, "heron and gull"), entry(901, "heron and tern and gull")])
        assert sorted(found(index, "heron", limit=2)) == ["900", "901"]

    def test_what_stands_in_closed_documents_decides_no_hit(self, index):
        """Else an asker learns their words: by the spelling, and by what counts as common."""
        index.put(
            [entry(1, "Mrs Meier leads"), entry(2, "heron kingfisher"), entry(3, "heron")]
            + [entry(n, "fees and hours") for n in range(4, 9)]
        )
        before = [sorted(found(index, query)) for query in ("Meyer", "heron kingfisher")]
        assert before[0][:1] == ["1"] and set(before[1]) >= {"2", "3"}
        closed = [entry(n, "Meyer, Maier and Meter: heron", tags=["staff"]) for n in range(20, 40)]
        index.put(closed)
        after = [sorted(found(index, query)) for query in ("Meyer", "heron kingfisher")]
        assert after == before

    @pytest.mark.parametrize(
        "query",
        ['"', "heron\"", "NOT heron", "heron AND", "(heron", "heron*", "body:heron", "^heron",
         "heron NEAR(x", "'; DROP TABLE x; --", "{title}: heron", "heron + -", "%s %(x)s",
         "he\0ron", "\ud800 heron", "heron " * 3000, "ﷺ" * 500],
    )  # fmt: skip
    def test_no_query_is_ever_syntax(self, index, query):
        index.put([entry(1, "heron"), entry(2, "gull")])
        assert set(found(index, query)) <= {"1"}

    @pytest.mark.parametrize("query", ["", "   ", "?!", "\n"])
    def test_a_query_without_words_finds_nothing(self, index, query):
        index.put([entry(1, "heron")])
        assert found(index, query) == []

    def test_an_empty_index_finds_nothing(self, index):
        assert found(index, "heron") == []
        assert index.stats().documents == 0

    def test_what_is_stored_can_be_compared(self, index):
        index.put([entry(1, "a heron", checksum="x"), entry(1, "Reiher", language="de")])
        assert index.stored("page")[("1", "en")].checksum == "x"
        assert index.stored("page", ["1"]).keys() == {("1", "en"), ("1", "de")}
        assert index.stored("page", ["2"]) == {}
        assert index.stored("other") == {}
        assert index.entity_types() == {"page"}

    def test_clearing_a_source_leaves_the_others(self, index):
        index.put([entry(1, "heron")])
        index.clear("other")
        assert found(index, "heron") == ["1"]
        index.clear("page")
        assert found(index, "heron") == []
        assert index.stats().chunks == 0
