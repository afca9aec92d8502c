import pytest

from ai_answers.answers.citations import CitationNumbering, is_only_markers, plain_text
from ai_answers.events import CitationFound, SourceCited, TextDelta


def test_readers_see_numbers_in_the_order_of_first_citation():
    """S64, S65: numbers are given while streaming and never change."""
    numbering = CitationNumbering()
    events = [TextDelta("A"), SourceCited(4), TextDelta(" B"), SourceCited(2), SourceCited(4)]

    assert [shown for event in events for shown in numbering.feed(event)] == [
        TextDelta("A"),
        CitationFound(index=1, number=4),
        TextDelta("[1]"),
        TextDelta(" B"),
        CitationFound(index=2, number=2),
        TextDelta("[2]"),
        TextDelta("[1]"),
    ]
    assert numbering.order == (4, 2)


@pytest.mark.parametrize(
    ("saved", "plain"),
    [
        ("Six[1]. Nine[2][1].", "Six. Nine."),
        ("Dated \\[2024\\][1].", "Dated [2024]."),
        ("Use `rows[1]`[1] and $x[1]$[2].", "Use `rows[1]` and $x[1]$."),
        ("```\nx[1]\n```\nDone[1].", "```\nx[1]\n```\nDone."),
        ("At https://x.example/a[1], ?b\\[2\\]=3.", "At https://x.example/a, ?b[2]=3."),
        (
            "[times](/q?a[1]=1)[1] <https://x.example/[1]>",
            "[times](/q?a[1]=1) <https://x.example/[1]>",
        ),
        ("[2024](/x)[1] and six[1](see above)", "[2024](/x) and six(see above)"),
        ("- six[1]\n- nine[2]\n\n> ten[1]", "- six\n- nine\n\n> ten"),
        ("no [citation] here, [0] either", "no [citation] here, [0] either"),
        ("", ""),
    ],
)
def test_history_gets_the_answer_without_its_citations(saved, plain):
    """G07, D40."""
    assert plain_text(saved) == plain


@pytest.mark.parametrize("saved", ["[1]", "[1][2].", " [1]\n", "- [1]\n- [2]", "**[1]**"])
def test_citations_alone_say_nothing(saved):
    """G17."""
    assert is_only_markers(saved)


@pytest.mark.parametrize("saved", ["", "Six[1].", "`[1]`", "\\[1\\]", "。", "2"])
def test_an_answer_that_says_something_or_cites_nothing_is_not_only_markers(saved):
    """G17."""
    assert not is_only_markers(saved)
