import numpy as np
import pytest

from ai_answers.exceptions import EmbeddingFailed
from ai_answers.retrieval.vectors import Matrix

ROWS = np.eye(4, dtype=np.float32)


def query(row):
    return ROWS[row]


def best(matrix, row, limit=2):
    return matrix.best(matrix.cosines(query(row)), limit)


def test_the_nearest_come_first_and_ties_by_id():
    matrix = Matrix.empty().with_rows([7, 3, 9], ROWS[[0, 1, 1]])
    assert best(matrix, 1) == [(3, 1.0), (9, 1.0)]
    assert best(matrix, 0, limit=9)[0] == (7, 1.0)
    assert best(matrix, 0, limit=0) == []


def test_a_snapshot_is_not_touched_by_later_loads():
    first = Matrix.empty().with_rows([1, 2], ROWS[:2])
    later = first.with_rows([3], ROWS[2:3]).keeping(np.array([2, 3]))
    assert [i for i, _ in best(first, 0, limit=9)] == [1, 2]
    assert sorted(i for i, _ in best(later, 0, limit=9)) == [2, 3]


def test_few_rows_are_marked_and_many_are_taken_out():
    matrix = Matrix.empty().with_rows(range(10), np.tile(ROWS[0], (10, 1)))
    marked = matrix.keeping(np.arange(1, 10))
    assert (marked.count, marked.live) == (10, 9)
    assert 0 not in dict(best(marked, 0, limit=10))
    assert len(marked.alive(marked.cosines(query(0)))) == 9
    taken = marked.without([1, 2, 3])
    assert (taken.count, taken.live) == (6, 6)


def test_only_rows_of_the_wanted_labels_count():
    rows = np.tile(ROWS[0], (4, 1))
    matrix = Matrix.empty().with_rows([1, 2], rows[:2], [0, 1]).with_rows([3, 4], rows[2:], [1, 0])
    scores = matrix.cosines(query(0))
    assert [i for i, _ in matrix.best(scores, 9, labelled=np.array([False, True]))] == [2, 3]
    few = matrix.without([2])
    assert few.best(few.cosines(query(0)), 9, labelled=np.array([False, True])) == [(3, 1.0)]
    assert matrix.best(scores, 9, labelled=np.array([False, False])) == []


def test_cosines_of_named_chunks_are_read_off():
    matrix = Matrix.empty().with_rows([5, 6], ROWS[:2])
    assert matrix.of(matrix.cosines(query(1)), [6, 99]) == {6: 1.0}


def test_another_dimension_is_an_error_that_says_what_to_do():
    matrix = Matrix.empty().with_rows([1], ROWS[:1])
    with pytest.raises(EmbeddingFailed, match="--rebuild"):
        matrix.with_rows([2], np.ones((1, 3), np.float32))
    with pytest.raises(EmbeddingFailed, match="--rebuild"):
        matrix.cosines(np.ones(3, np.float32))
