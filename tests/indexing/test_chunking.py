import pytest
from django.utils.text import slugify

from ai_answers.indexing.chunking import chunks_of
from ai_answers.tokens import count_tokens
from ai_answers.values import Document, ObjectKey


def cut(text, *, title="Depot", tokens=60, overlap=15):
    document = Document(
        key=ObjectKey("page", "1"), language="en", title=title, url="/depot/", text=text
    )
    return chunks_of(document, tokens=tokens, overlap=overlap, anchor_of=slugify)


def sentences(count, word="parcel"):
    return " ".join(f"Here is {word} number {n} of the day." for n in range(count))


def test_chunks_carry_the_heading_path_and_the_anchor_of_the_nearest_heading():
    text = (
        f"# Depot\n\n{sentences(9)}\n\n## Opening hours\n\n{sentences(9)}\n\n"
        f"### On `Friday`\n\n{sentences(9)}\n\n## Fees {{#prices}}\n\n{sentences(9)}"
    )
    found = dict.fromkeys((chunk.heading, chunk.anchor) for chunk in cut(text))

    assert list(found) == [
        ("", ""),
        ("Opening hours", "opening-hours"),
        ("Opening hours › On Friday", "on-friday"),
        ("Fees", "prices"),
    ]


def test_positions_count_up_and_no_chunk_is_longer_than_asked():
    """T8: about 300 tokens with 100 overlap; any sizes work."""
    chunks = cut(f"{sentences(60)}\n\n{sentences(5)}\n\n{'x' * 2000}")
    assert [chunk.position for chunk in chunks] == list(range(len(chunks)))
    assert max(count_tokens(chunk.text) for chunk in chunks) <= 60
    assert min(count_tokens(chunk.text) for chunk in chunks[:-1]) > 20


def test_each_chunk_begins_with_the_end_of_the_one_before():
    chunks = cut(sentences(40))
    for before, after in zip(chunks, chunks[1:], strict=False):
        first, second, *_ = after.text.split(". ")
        assert first in before.text
        assert second not in before.text
        assert not after.text.startswith("of")


def test_nothing_of_the_text_is_lost():
    text = f"{sentences(30)}\n\n## Fees\n\n{sentences(30, 'fee')}\n\n- one\n- two"
    joined = " ".join(chunk.text for chunk in cut(text))
    for n in range(30):
        assert f"parcel number {n} " in joined
        assert f"fee number {n} " in joined
    assert "- one\n- two" in joined


def test_code_that_fits_stays_whole_and_its_comments_are_no_headings():
    code = "```python\n# not a heading\n\nrun(1)\n```"
    [chunk] = [c for c in cut(f"{sentences(7)}\n\n{code}\n\n{sentences(7)}") if "run(1)" in c.text]
    assert code in chunk.text
    assert chunk.heading == ""


def test_code_that_does_not_fit_keeps_its_fence_in_each_piece():
    lines = "\n".join(f"call_number_{n}(argument)" for n in range(60))
    chunks = cut(f"```python\n{lines}\n```")
    assert len(chunks) > 2
    for chunk in chunks:
        assert chunk.text.startswith("```python\n")
        assert chunk.text.endswith("\n```")


def test_a_table_that_does_not_fit_keeps_its_header_row():
    rows = "\n".join(f"| size {n} | {n} euros |" for n in range(60))
    chunks = cut(f"| Size | Fee |\n| --- | --- |\n{rows}")
    assert len(chunks) > 2
    assert all(chunk.text.startswith("| Size | Fee |\n| --- | --- |\n") for chunk in chunks)


def test_small_sections_share_a_chunk_with_their_headings_kept():
    text = "## Fees\n\nSmall: four.\n\n### Large\n\nNine.\n\n### Huge\n\nTwelve."
    [chunk] = cut(text, tokens=300, overlap=100)
    assert chunk.text == "Small: four.\n\n**Large**\n\nNine.\n\n**Huge**\n\nTwelve."
    assert (chunk.heading, chunk.anchor) == ("Fees", "fees")


def test_underlined_headings_count_and_rules_do_not():
    text = f"Fees\n----\n\n{sentences(9)}\n\n---\n\n{sentences(9)}"
    assert {chunk.heading for chunk in cut(text)} == {"Fees"}


def test_text_without_blanks_or_in_chinese_is_cut_too():
    chunks = cut("图书馆星期一开放。" * 60)
    assert len(chunks) > 5
    assert max(count_tokens(chunk.text) for chunk in chunks) <= 61


@pytest.mark.parametrize("text", ["", "\n\n", "# Only a heading", "```\nopen fence", "|\n|-|\n|"])
def test_odd_texts_are_cut_without_error(text):
    assert all(chunk.text.strip() for chunk in cut(text))
