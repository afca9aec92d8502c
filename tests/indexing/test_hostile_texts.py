"""Texts made to be slow: the time to read one grows with its length, never with its square."""

import signal

import pytest

from ai_answers.indexing.chunking import chunks_of
from ai_answers.indexing.structure import TABLE_RULE
from ai_answers.sources.documents import NO_TITLE
from ai_answers.sources.html import html_to_markdown
from ai_answers.sources.markdown import first_heading, markdown_page, without_own_id
from ai_answers.values import Document, ObjectKey

MANY = 20_000
SECONDS = 8
"""Of processor time; what is quadratic takes longer, what is cubic hours."""


@pytest.fixture(autouse=True)
def limit():
    def too_slow(*args):
        raise TimeoutError(f"It took over {SECONDS} s.")

    before = signal.signal(signal.SIGVTALRM, too_slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


def cut(text):
    document = Document(key=ObjectKey("a", "1"), language="en", title="T", url="", text=text)
    return chunks_of(document, tokens=400, overlap=50, anchors_of=lambda all_: [""] * len(all_))


@pytest.mark.parametrize(
    "text",
    [
        "Text\n\n{" + "#" * MANY,
        "Text\n\n" + "{#a " * MANY,
        "a|b\n-" + " " * MANY + "x",
        "# " + "[" * MANY,
        "- " * MANY + "x",
        ("- " * 10 + "a\n") * (MANY // 22),
        "<!--" * MANY,
    ],
    ids=lambda text: text[:12],
)
def test_markdown(text):
    cut(text)


@pytest.mark.parametrize("run", [" ", "\n", "\t"], ids=repr)
def test_html(run):
    assert html_to_markdown(f"<pre>a{run * MANY}x</pre><h1>b</h1>").text.endswith("# b")


def test_titles():
    assert first_heading("# " + "[a](" * MANY + "\n\n# Fees") == "Fees"
    assert markdown_page("---\ntitle: 'a" + " " * MANY + "b'\n---\n")[0].startswith("a ")
    assert NO_TITLE.fullmatch("microsoft word" + " " * MANY + "x\ty")
    assert not TABLE_RULE.match("-" + " " * MANY + "x")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Fees {#fees}", ("Fees ", "fees")),
        ("Fees {: .wide #fees lang=en}  \n", ("Fees ", "fees")),
        ("{#page=3}", ("", "page=3")),
        ("Fees {a} {#}", ("Fees {a} ", "")),
        ("Fees {.wide}", ("Fees {.wide}", None)),
        ("{#a} Fees", ("{#a} Fees", None)),
        ("Fees {#a}}", ("Fees {#a}}", None)),
        ("Fees", ("Fees", None)),
    ],
)
def test_an_id_is_what_stands_last_in_braces(text, found):
    assert without_own_id(text) == found


def test_lists_deeper_than_anyone_writes_keep_their_words():
    words = " ".join(f"word{number}" for number in range(900))
    assert " ".join(chunk.text for chunk in cut("- " * 500 + words)).count("word") >= 900
