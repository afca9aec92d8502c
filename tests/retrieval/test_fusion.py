import numpy as np

from ai_answers.retrieval.fusion import fuse
from ai_answers.retrieval.legs import Nearest, Ranked

ORDINARY = np.array([0.1, -0.1] * 50)


def legs(words, ideal, cosines, all_cosines):
    nearest = Nearest(cosines=cosines, usual=all_cosines.mean(), spread=all_cosines.std())
    return Ranked(scores=words, ideal=ideal), nearest


def order(*arguments):
    return [chunk_id for chunk_id, _ in fuse(*legs(*arguments))]


def test_what_both_legs_find_comes_before_what_one_finds():
    assert order({1: 5.0, 2: 5.0}, 10.0, {2: 0.5, 3: 0.5}, ORDINARY)[0] == 2


def test_words_that_hardly_match_do_not_outvote_a_meaning_that_stands_out():
    """A German question to English pages: the words share a name or two."""
    assert order({1: 1.0}, 20.0, {1: 0.0, 2: 0.6}, ORDINARY) == [2, 1]


def test_a_meaning_that_stands_out_nowhere_does_not_outvote_the_words():
    """An embedding that does not know the language: all cosines are alike."""
    alike = np.linspace(0.80, 0.82, 100)
    assert order({1: 9.0}, 10.0, {2: 0.82, 1: 0.80}, alike)[0] == 1


def test_scores_are_between_0_and_1_and_do_not_depend_on_what_else_was_found():
    alone = dict(fuse(*legs({1: 4.0}, 10.0, {1: 0.3}, ORDINARY)))
    among = dict(fuse(*legs({1: 4.0, 2: 50.0}, 10.0, {1: 0.3, 2: 9.0}, ORDINARY)))
    assert alone[1] == among[1]
    assert 0 < among[1] < among[2] <= 1


def test_one_leg_alone_keeps_its_order_and_none_gives_nothing():
    assert order({1: 2.0, 2: 3.0}, 10.0, {}, ORDINARY) == [2, 1]
    assert order({}, 0.0, {1: 0.2, 2: 0.4}, ORDINARY) == [2, 1]
    assert order({}, 5.0, {}, ORDINARY) == []


def test_what_nothing_speaks_for_is_left_out_and_ties_go_by_id():
    assert order({}, 5.0, {4: -0.3, 7: 0.3, 3: 0.3}, ORDINARY) == [3, 7]


def test_the_weight_of_the_words_can_be_set():
    both = legs({1: 10.0}, 10.0, {2: 0.9}, ORDINARY)
    assert [i for i, _ in fuse(*both, words=0.9)] == [1, 2]
    assert [i for i, _ in fuse(*both, words=0.1)] == [2, 1]
