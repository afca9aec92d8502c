import pytest

from ai_answers.answers.citations import CitationResolver
from ai_answers.events import SourceCited, TextDelta

from .citation_streams import CASES, cuts, resolve, show, unescape


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_each_case_comes_out_right_however_the_stream_is_cut(case):
    """M1-M11, P1; S60: a marker is decided while the answer streams."""
    pieces = [case["in"]] if isinstance(case["in"], str) else case["in"]
    text = "".join(pieces)

    outcomes = {unescape(resolve(cut)).strip() for cut in [pieces, *cuts(text)]}

    assert outcomes == {unescape(case["out"]).strip()}


def test_text_leaves_as_soon_as_it_cannot_become_a_marker():
    """M10."""
    resolver = CitationResolver(source_count=5)

    assert resolver.feed("Leaves at six") == [TextDelta("Leaves at six")]
    assert resolver.feed(" ") == []
    assert resolver.feed("[") == []
    assert resolver.feed("2") == []
    assert resolver.feed(" of") == [TextDelta(" ")]
    assert resolver.feed(" 3] today") == [TextDelta("[2 of 3] today")]


def test_a_marker_leaves_with_its_last_character():
    resolver = CitationResolver(source_count=5)

    assert resolver.feed("Leaves at six [2") == [TextDelta("Leaves at six")]
    assert resolver.feed("]") == [SourceCited(2)]


def test_emphasis_that_closes_is_released_at_once():
    """M10."""
    resolver = CitationResolver(source_count=5)

    assert show(resolver.feed("It is **quick**")) == "It is **quick**"


def test_inline_code_and_math_are_released_at_once():
    """M10."""
    for text in ("Use `rows[2", "Use $x[2", "Use \\(x[2", "Use $$x[", "Use ``a `", "```py\nx[2"):
        assert show(CitationResolver(source_count=5).feed(text)) == text


def test_a_literal_number_in_brackets_is_escaped_outside_code_and_math():
    """Design: every unescaped ``[n]`` outside code and math is a citation."""
    assert resolve(["Dated [2024], `a[1]`, $x[2]$."]) == "Dated \\[2024\\], `a[1]`, $x[2]$."
    assert resolve(["Rows row_x[2] and [[0]]."]) == "Rows row_x\\[2\\] and [\\[0\\]]."
    assert resolve(["At https://x.example/?a[2]=1"]) == "At https://x.example/?a\\[2\\]=1"
    assert resolve(["[t](/q?a[2]=1) <https://x.example/[2]>"]) == (
        "[t](/q?a[2]=1) <https://x.example/[2]>"
    )
    assert resolve(["a [[9]5] b"]) == "a [5\\] b"
    assert resolve(["a [![2](x)](/y) b"]) == "a [](/y) b"


def test_invalid_numbers_are_counted():
    """M4, D44."""
    resolver = CitationResolver(source_count=5)
    for text in ("A [9], [2, 8]. ", "B 【7:2†depot.pdf】. C [2024] [4-9]."):
        resolver.feed(text)
    resolver.flush()

    assert resolver.invalid_citations == 3


def test_numbers_resolve_from_the_moment_a_round_adds_their_source():
    """S61, S62."""
    resolver = CitationResolver(source_count=1)
    before = resolver.feed("A [2]. ")
    resolver.source_count = 2
    after = resolver.feed("B [2].") + resolver.flush()

    assert show(before + after) == "A. B⟦2⟧."


def test_titles_are_read_when_a_list_of_sources_begins():
    """M8."""
    titles = []
    resolver = CitationResolver(source_count=5, titles=lambda: titles)
    resolver.feed("A [2].\n\n")
    titles.append("Night bus")

    assert show(resolver.feed("Sources:\n- Night bus\n") + resolver.flush()) == ""


def test_without_sources_every_short_number_is_invalid():
    assert resolve(["A [1]. B [2024]."], source_count=0) == "A. B \\[2024\\]."


@pytest.mark.parametrize(
    "text",
    [
        "A [2](" + "x" * 2100 + ") end",
        "A [" + "x" * 200 + " [2]](/t) end",
        "A 【2†" + "x" * 100 + "】 end",
        "A [2" + " " * 100 + "] end",
        "Sources:\n" + "word " * 100 + "\nend [2]",
        "A" + " " * 50 + "[2]",
        "A **" * 20 + "[2]",
        "A [" + "0" * 50 + "2] end",
        "A <sup class='" + "c" * 60 + "'>[2]</sup> end",
        "A ([1], [2], [3], [4], [5], [1], [2], [3]) end",
    ],
)
def test_what_is_longer_than_its_bound_is_released_alike_however_it_is_cut(text):
    """M10, P3."""
    whole = resolve([text])

    assert whole == resolve(list(text))
    assert whole == resolve([text[:40], text[40:]])
    assert whole.endswith(("end", "⟦2⟧"))
