"""Properties that hold for any text: P1-P6, P8, P9 of the grammar."""

import codecs
import gc
import re
import time

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ai_answers.answers.citations import (
    CitationNumbering,
    CitationResolver,
    is_only_markers,
    plain_text,
)
from ai_answers.events import CitationFound, SourceCited, TextDelta

from .citation_streams import TITLES, is_subsequence, resolve, show, unescape, without_chips

SIGNS = """
[ ] ( ) 2 4 9 0 , - – * ** _ ` `` ``` ~~~ $ $$ \\ < </sup> <sup> > ! # | ^ † : ; = . a x and
Source Sources: name row_x https:// www. [2] [4] [2]( [2]:_ 【2】 【 】 （ ） " ' in title [text
](/t) ][2] \\[ \\] \\( \\) <code> </code> 😀 ö [text][4] **[2]** ([2]) Depot
""".replace("_ ", " ").split()
BLANKS = [" ", "  ", "\n", "\n\n", "    ", "\t", "\n- ", "\n1. ", "\n> ", "\n# "]
HOSTILE = ["\x00", "\ud83d", "\ude00", "\u202e", "\r\n"]

texts = st.lists(st.sampled_from(SIGNS + BLANKS + BLANKS + HOSTILE), max_size=30).map("".join)
words = st.sampled_from(["Parcels", "leave", "on", "Friday", "GitHub", "6 p.m.", "五", "é"])
markers = st.sampled_from(
    ["[2]", "[2, 4]", "[[2]]", "**[2]**", "([2])", "【2†x】", "[Source 2]", "[1-3]", "[9]", "[^2]"]
)
sentences = st.lists(st.one_of(words, markers), min_size=1, max_size=12).map(" ".join)
raw = st.sampled_from(
    [
        "`rows[2]`",
        "``a ` [2]``",
        "$x[2] = y$",
        "$$x[2]$$",
        "\\(x[2]\\)",
        "https://x.example/q?a=2",
        "[t](/q?a[2]=1)",
        "<https://x.example/[2]>",
        "\n\n```\nx[2]\n```\n\n",
        "\n\n~~~~\n[2]\n~~~~\n\n",
        "\n\n    code[2]\n\n",
    ]
)
quick = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@quick
@given(texts, st.data())
def test_any_way_of_cutting_gives_the_same(text, data):
    """P1."""
    at = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    pieces = [text[a:b] for a, b in zip([0, *at], [*at, len(text)], strict=True)]

    assert resolve(pieces) == resolve([text]) == resolve(list(text))


@quick
@given(sentences)
def test_no_visible_beginning_ends_inside_a_marker(text):
    """P2."""
    resolver = CitationResolver(source_count=5)
    shown = ""
    for sign in text:
        shown += show(resolver.feed(sign))

        assert not re.search(r"[\[【(][\d\s,;^[-]*\Z", without_chips(shown))


@quick
@given(texts.filter(lambda text: "Source" not in text and "†" not in text and "](" not in text))
def test_held_text_never_exceeds_its_bound(text):
    """P3: what only the end releases was held."""
    resolver = CitationResolver(source_count=5)
    resolver.feed(text)

    assert len(unescape(without_chips(show(resolver.flush())))) <= 32


@quick
@given(texts)
def test_nothing_is_added_or_moved_but_citations(text):
    """P4."""
    shown = without_chips(resolve([text]))

    assert is_subsequence(re.sub(r"\\([\[\]])", r"\1", shown).replace("\\", ""), text)


@quick
@given(sentences, raw, sentences)
def test_code_math_and_addresses_stay_as_they_are(before, passage, after):
    """P5."""
    assert passage.strip() in resolve([before, " ", passage, " ", after])


@quick
@given(texts, st.integers(0, 5))
def test_only_numbers_of_known_sources_are_cited(text, source_count):
    """P6."""
    resolver = CitationResolver(source_count=source_count)
    events = resolver.feed(text) + resolver.flush()
    cited = {event.number for event in events if isinstance(event, SourceCited)}

    assert cited <= set(range(1, source_count + 1))
    assert all(event.text for event in events if isinstance(event, TextDelta))


@quick
@given(sentences, st.integers(1, 4))
def test_bytes_may_be_cut_inside_a_character(text, size):
    """P8."""
    data = text.encode()
    decode = codecs.getincrementaldecoder("utf-8")().decode
    pieces = [decode(data[at : at + size]) for at in range(0, len(data), size)]

    assert resolve(pieces) == resolve([text])


@quick
@given(sentences, st.integers(0, 200))
def test_an_answer_stopped_anywhere_can_be_read_again(text, at):
    """P9, G09: what is kept holds whole citations only, each announced before."""
    resolver, numbering = CitationResolver(source_count=5, titles=TITLES), CitationNumbering()
    saved, found = "", []
    for event in resolver.feed(text[:at]) + resolver.flush():
        for shown in numbering.feed(event):
            if isinstance(shown, CitationFound):
                found.append(shown.index)
            else:
                saved += shown.text

    assert {int(index) for index in re.findall(r"(?<!\\)\[(\d+)\]", saved)} == set(found)
    assert found == list(range(1, len(found) + 1))
    assert not re.search(r"\[\d", plain_text(saved))
    assert is_only_markers(saved) == (bool(found) and not plain_text(saved).strip(" ,-.[\n"))


def test_time_grows_with_the_length_and_no_faster():
    """P3: no run of signs makes the work grow with the square of its length."""
    units = [
        "[",
        "[1,",
        "1",
        " ",
        "`",
        "$",
        "(",
        "**",
        "[2](a",
        "([2], ",
        "^",
        "<sup>",
        "\\[",
        "![2](",
    ]
    units += ["[a", "\n", "[2]\n", "> ", "Sources:\n", "[2†", '<a b="[', "https://a[", "x[2]("]
    for unit in units:
        ratios = []
        for _ in range(4):
            short, long = (_seconds(unit, length) for length in (2500, 7500))
            ratios.append(long / short)
            if min(ratios) < 6:
                break
        # Three times the length: 3 is linear, 9 is quadratic.
        assert min(ratios) < 6, (unit, ratios)


def _seconds(unit: str, length: int) -> float:
    text = (unit * length)[:length]
    gc.collect()
    started = time.process_time()
    resolve([text[at : at + 5] for at in range(0, length, 5)])
    return time.process_time() - started + 0.005


def test_a_text_of_a_hundred_thousand_signs_is_read_to_its_end():
    """P3."""
    for unit in ("[1,1,", "1", " ", "`", "$", "*", "\\["):
        text = (unit * 100_000)[:100_000]
        assert is_subsequence(unescape(resolve([text])), text)
