import textwrap

import pytest
from django.utils.text import slugify

from ai_answers.exceptions import ConfigurationError
from ai_answers.indexing.chunking import chunks_of
from ai_answers.indexing.preparing import embedded_text
from ai_answers.tokens import count_tokens
from ai_answers.values import Document, ObjectKey


def cut(text, *, title="Depot", tokens=60, overlap=15):
    document = Document(
        key=ObjectKey("page", "1"), language="en", title=title, url="/depot/", text=text
    )
    return chunks_of(document, tokens=tokens, overlap=overlap, anchors_of=slugs)


def slugs(headings):
    return [slugify(heading) for heading in headings]


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


def items(count, word="parcel"):
    return "\n".join(f"- {word} number {n} costs some euros" for n in range(count))


def test_a_list_that_fits_stays_whole_with_all_that_is_in_it():
    text = "- Small\n\n  ```\n  pay(4)\n\n  # not a heading\n  ```\n\n- Large:\n    - nine euros"
    [chunk] = [c for c in cut(f"{sentences(5)}\n\n{text}\n\n{sentences(5)}") if "pay" in c.text]
    assert text in chunk.text


def test_a_list_that_does_not_fit_is_cut_between_its_items():
    chunks = cut(items(40))
    assert len(chunks) > 3
    for chunk in chunks:
        assert all(line.startswith("- parcel number") for line in chunk.text.split("\n"))
        assert chunk.text.endswith("costs some euros")


def test_nested_items_that_are_cut_keep_the_line_above_them():
    nested = "\n".join(f"    - size {n} costs {n} euros of it" for n in range(40))
    chunks = cut(f"- Small:\n    - four\n- Large parcels:\n{nested}", overlap=10)
    large = [chunk for chunk in chunks if "size" in chunk.text]
    assert len(large) > 3
    assert all(chunk.text.count("- Large parcels:\n  - size") == 1 for chunk in large)


def test_an_item_with_several_paragraphs_loses_none():
    chunks = cut(f"1. {sentences(9)}\n\n   {sentences(9, 'fee')}\n2. End")
    joined = " ".join(" ".join(chunk.text.split()) for chunk in chunks)
    for n in range(9):
        assert f"parcel number {n} " in joined
        assert f"fee number {n} " in joined


@pytest.mark.parametrize(
    "table",
    [
        "Size | Fee\n--- | ---\n{rows}",
        "| Size | Fee |\n|:--|--:|\n{rows}",
        "Our fees:\n| Size | Fee |\n|---|---|\n{rows}",
    ],
)
def test_tables_with_and_without_outer_bars_keep_their_header_row(table):
    rows = "\n".join(f"size {n} | {n} euros" for n in range(60))
    chunks = cut(table.format(rows=rows))
    cut_ones = [chunk.text for chunk in chunks if "size" in chunk.text]
    assert len(cut_ones) > 2
    assert all("Size | Fee" in text for text in cut_ones)
    assert ("Our fees:" in chunks[0].text) == table.startswith("Our fees:")


def test_indented_code_stays_whole_and_its_comments_are_no_headings():
    code = "    # not a heading\n    run(1)\n\n    run(2)"
    [chunk] = [c for c in cut(f"{sentences(6)}\n\n{code}") if "run(1)" in c.text]
    assert code in chunk.text
    assert chunk.heading == ""


def test_html_in_markdown_is_read_like_a_page():
    text = (
        f"Start.\n\n<h2 id='prices'>Our <b>fees</b></h2>\n\n{sentences(9)}\n\n"
        "<div hidden>secret</div>\n\n<table><tr><th>Size<th>Fee<tr><td>S<td>4</table>\n\n"
        "<your name>\n\n### Below\n\nMore."
    )
    chunks = cut(text)
    assert {(chunk.heading, chunk.anchor) for chunk in chunks} == {
        ("", ""), ("Our fees", "prices"), ("Our fees › Below", "below"),
    }  # fmt: skip
    joined = "\n".join(chunk.text for chunk in chunks)
    assert "| Size | Fee |\n| --- | --- |\n| S | 4 |" in joined
    assert "secret" not in joined
    assert "<your name>" in joined


def test_a_heading_without_text_is_kept_as_text():
    [chunk] = cut("## Fees\n\nFour euros.\n\n### No refunds", tokens=300)
    assert chunk.text == "Four euros.\n\n**No refunds**"
    assert [chunk.text for chunk in cut("# Depot\n\n## Closed")] == ["**Closed**"]


def test_a_paragraph_with_a_line_under_it_is_no_heading():
    [chunk] = cut("From: depot\nTo: gate\n----\n\nText.", tokens=300)
    assert chunk.heading == ""
    assert "From: depot" in chunk.text


def test_marks_give_an_anchor_to_what_follows_and_are_no_text():
    text = f"## Fees {{#}}\n\n{{#page=2}}\n\n{sentences(9)}\n\n{{#page=3}}\n\n{sentences(9, 'fee')}"
    chunks = cut(text, overlap=0)
    assert {(chunk.heading, chunk.anchor) for chunk in chunks} == {
        ("Fees", "page=2"), ("Fees", "page=3"),
    }  # fmt: skip
    assert all(chunk.anchor == "page=3" for chunk in chunks if chunk.text.startswith("Here is fee"))
    assert not [chunk for chunk in chunks if "{#" in chunk.text]


def test_what_a_chunk_repeats_does_not_decide_where_it_leads():
    text = f"{{#page=2}}\n\n{sentences(5)}\n\n{{#page=3}}\n\n{sentences(5, 'fee')}"
    [mixed] = [c for c in cut(text) if "parcel" in c.text and "fee" in c.text]
    assert mixed.text.startswith("Here is parcel")
    assert mixed.anchor == "page=3"


def test_a_long_path_gives_way_to_the_text():
    """T8: title and headings take at most 30 % of what is embedded."""
    heading = "A heading of many words that goes on and on"
    text = f"# {heading}\n\n## {heading} too\n\n### {heading} again\n\n{sentences(30)}"
    for chunk in cut(text, title="The long title of the page"):
        embedded = embedded_text(chunk, tokens=60)
        assert count_tokens(embedded) <= 60
        assert embedded.startswith("The long title")


def test_lines_that_end_anywhere_are_cut_at_sentences():
    wrapped = textwrap.fill(sentences(40), 50)
    chunks = cut(wrapped)
    assert all(chunk.text.split()[:3] == ["Here", "is", "parcel"] for chunk in chunks)


def test_the_wrong_number_of_ids_is_an_error_that_says_so():
    document = Document(key=ObjectKey("p", "1"), language="", title="", url="", text="# a\n\n# b")
    with pytest.raises(ConfigurationError, match=r"1 ids for 2 headings"):
        chunks_of(document, tokens=60, overlap=0, anchors_of=lambda headings: ["a"])
