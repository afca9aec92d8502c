from dataclasses import replace

from ai_answers.answers.sourcing import TurnSources, from_json, to_json
from ai_answers.values import Chunk, Hit, ObjectKey


def hit(page, position=0, text="Some text.", score=1.0):
    key = ObjectKey("site.page", page)
    chunk = Chunk(
        id=None, key=key, language="", position=position, text=text, title=page, url=f"/{page}/"
    )
    return Hit(chunk=chunk, score=score, score_kind="bm25")


def sources(**limits):
    return TurnSources(**{"max_sources": 20, "max_references": 5, "max_tokens": 1000} | limits)


def numbers(found):
    return [(source.key.entity_id, source.number) for source in found]


def test_an_object_keeps_its_number_over_several_calls():
    """S61-S63, G01: new ones come behind, a known one is not renumbered."""
    turn = sources()
    turn.add([hit("a"), hit("b")])
    again = turn.add([hit("z"), hit("a", position=1)])
    assert numbers(again) == [("z", 3), ("a", 1)]
    assert numbers(turn.all) == [("a", 1), ("b", 2), ("z", 3)]


def test_chunks_of_one_object_share_a_number_and_are_all_kept():
    """S51, G03."""
    turn = sources()
    (source,) = turn.add([hit("a", 0), hit("a", 1), hit("a", 0)])
    assert [chunk.position for chunk in source.chunks] == [0, 1]
    assert [chunk.position for chunk in turn.all[0].chunks] == [0, 1]


def test_objects_over_the_cap_are_skipped_and_later_chunks_of_others_survive():
    """S50, R24: the cap is on new objects of one call."""
    turn = sources(max_references=2)
    found = turn.add([hit("a"), hit("b"), hit("c"), hit("a", 1)])
    assert numbers(found) == [("a", 1), ("b", 2)] and len(found[0].chunks) == 2
    assert numbers(turn.add([hit("c"), hit("d"), hit("e")])) == [("c", 3), ("d", 4)]


def test_the_turn_is_capped():
    turn = sources(max_sources=3)
    turn.add([hit(page) for page in "abcde"])
    assert len(turn) == 3 and numbers(turn.add([hit("e"), hit("a", 7)])) == [("a", 1)]


def test_text_beyond_the_token_budget_is_left_out():
    turn = sources(max_tokens=30)
    found = turn.add([hit("a", text="x" * 80), hit("b", text="y" * 80), hit("c", text="z" * 30)])
    assert numbers(found) == [("a", 1), ("c", 2)]


def test_held_sources_are_numbered_for_their_new_turn_and_survive_storage():
    """S28: the stored form gives the same sources back."""
    first = sources()
    first.add([hit("a"), hit("b"), hit("b", 1)])
    stored = from_json(to_json(first.all))
    assert stored == list(first.all)
    turn = sources()
    turn.hold(stored[1:])
    assert numbers(turn.all) == [("b", 1)]
    assert numbers(turn.add([hit("a"), hit("b", 1)])) == [("a", 2), ("b", 1)]


def test_a_source_carries_the_similarity_where_the_hit_has_one():
    """D31, D59: what it was ranked by depends on other pages, too."""
    turn = sources()
    ranked = replace(hit("b"), score=0.6, score_kind="fused", scores={"cosine": 0.4, "fused": 0.6})
    plain, similar = turn.add([hit("a"), ranked])
    assert (plain.score, plain.score_kind) == (1.0, "bm25")
    assert (similar.score, similar.score_kind) == (0.4, "cosine")
