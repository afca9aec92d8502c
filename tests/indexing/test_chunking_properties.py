"""What holds for every text, whatever it is made of."""

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ai_answers.indexing.chunking import chunks_of
from ai_answers.indexing.preparing import embedded_text
from ai_answers.tokens import count_tokens
from ai_answers.values import Document, ObjectKey

WORDS = st.sampled_from(
    ["the", "heron", "gate", "parcel", "fees", "Müller", "naïve", "Öffnungszeiten", "ξενοδοχείο"]
    + ["библиотека", "مكتبة", "مفتوحة", "ספרייה", "图书馆", "星期一", "図書館は", "도서관"]
    + ["ห้องสมุด", "पुस्तकालय", "🦢", "e\u0301te"]
)
SENTENCE = st.lists(WORDS, min_size=1, max_size=25).map(lambda words: f"{' '.join(words)}.")
PARAGRAPH = st.lists(SENTENCE, min_size=1, max_size=6).map(" ".join)
HEADING = st.tuples(st.integers(1, 4), st.lists(WORDS, min_size=1, max_size=4)).map(
    lambda pair: f"{'#' * pair[0]} {' '.join(pair[1])}"
)
SETEXT = st.lists(WORDS, min_size=1, max_size=3).map(lambda words: f"{' '.join(words)}\n----")
LIST = st.lists(st.tuples(st.integers(0, 2), SENTENCE), min_size=1, max_size=9).map(
    lambda items: "\n".join(f"{'  ' * level}- {text}" for level, text in items)
)
CODE = st.lists(SENTENCE, min_size=1, max_size=9).map(
    lambda lines: "\n".join(["```", *lines, "```"])
)
TABLE = st.lists(st.tuples(SENTENCE, WORDS), min_size=1, max_size=9).map(
    lambda rows: "\n".join(["a | b", "--|--", *(f"{left} | {right}" for left, right in rows)])
)
QUOTE = SENTENCE.map(lambda text: f"> {text}")
MARK = st.integers(1, 9).map(lambda number: f"{{#page={number}}}")
TEXTS = st.lists(
    st.one_of(PARAGRAPH, HEADING, SETEXT, LIST, CODE, TABLE, QUOTE, MARK), max_size=12
).map("\n\n".join)
ANYTHING = st.text(
    alphabet=st.sampled_from(list("ab .!\n\t#-*`|>:{}[]()1~=_<\u0301图ห🦢")), max_size=400
)
SIZES = st.sampled_from([(24, 0), (40, 12), (90, 30), (300, 100)])
quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def cut(text, sizes, *, title="Depot"):
    document = Document(
        key=ObjectKey("page", "1"), language="", title=title, url="", text=text
    )  # fmt: skip
    return chunks_of(
        document, tokens=sizes[0], overlap=sizes[1], anchors_of=lambda all_: ["x"] * len(all_)
    )


def words_of(text):
    return [word for word in text.split() if word.strip("#-|`>{}=")]


@quick
@given(TEXTS, SIZES)
def test_no_word_of_a_text_is_lost(text, sizes):
    said = [f"{chunk.heading} {chunk.text}" for chunk in cut(text, sizes)]
    found = {word.strip("*") for piece in said for word in piece.split()}
    wanted = {word for word in words_of(text) if not word.startswith("{#")}
    assert wanted <= found


@quick
@given(st.one_of(TEXTS, ANYTHING), SIZES, st.text(alphabet="ab 图", max_size=80))
def test_no_chunk_is_longer_than_the_model_reads_with_all_that_is_embedded(text, sizes, title):
    """T8: the context takes at most 30 % of a chunk."""
    for chunk in cut(text, sizes, title=title):
        assert count_tokens(embedded_text(chunk, tokens=sizes[0])) <= sizes[0]
        assert chunk.text.strip()


@quick
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=120, unique=True), SIZES)
def test_chunks_keep_the_order_of_the_text(numbers, sizes):
    text = "\n\n".join(f"Word{number} stands in this short sentence." for number in numbers)
    seen = [word for chunk in cut(text, sizes) for word in chunk.text.split() if word[:4] == "Word"]
    assert list(dict.fromkeys(seen)) == [f"Word{number}" for number in numbers]


@quick
@given(st.one_of(TEXTS, ANYTHING), SIZES)
def test_the_same_text_is_cut_the_same_way(text, sizes):
    chunks = cut(text, sizes)
    assert chunks == cut(text, sizes)
    assert [chunk.position for chunk in chunks] == list(range(len(chunks)))


@pytest.mark.parametrize(
    "piece",
    [
        "The heron waits at the gate of the depot. ",
        "word " * 14 + "\n",
        "图书馆星期一开放。",
        "图",
        "ห้องสมุดเปิดวันจันทร์",
        "المكتبة مفتوحة يوم الاثنين. ",
        "x",
        "- an item of a list with some words in it\n",
        "| a cell of a table | and another one |\n",
        "## Heading\n\nSome text below it that is longer than a quarter. " * 2 + "\n\n",
        "> > quoted again\n",
        "```\ncode\n```\n",
        "(",
    ],
)
def test_time_grows_with_the_length_of_the_text_and_no_faster(piece):
    seconds = []
    for size in (40_000, 320_000):
        text = piece * (size // len(piece))
        started = time.process_time()
        cut(text, (300, 100))
        seconds.append(time.process_time() - started)
    assert seconds[1] < 8 * 3 * seconds[0] + 1


def test_a_cut_never_parts_a_letter_from_its_accent():
    text = "ae\u0301o\u0308" * 1000  # five characters, so that cuts fall everywhere
    assert not [chunk.text for chunk in cut(text, (40, 0)) if chunk.text[0] in "\u0301\u0308"]
