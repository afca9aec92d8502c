import time

import pytest

from ai_answers.sources import html_to_markdown

PAGE = """<!doctype html><html><head><title>Depot &amp; yard</title><style>p{}</style></head>
<body><header>Logo</header><nav><a href="/">Home</a></nav>
<main><h1>Times</h1><p>Leaves on <b>Friday</b>,<br>at six.
<p hidden>Secret hours<p style="color:red; display: none">More secrets
<div aria-hidden="true">Icon</div>
<h2>Fees</h2><ul><li>Small: 4 euros<li>Large:<ul><li>9 euros</ul></ul>
<ol><li>Pack<li>Label</ol>
<table><tr><th>Size<th>Fee<tr><td>S<td>4|5</table>
<pre><code>def pay():
    return 4
</code></pre><script>steal()</script><p>Use <code>pay()</code>.</main>
<footer>Imprint</footer></body></html>"""


def test_a_page_becomes_markdown_of_what_a_visitor_reads_in_main():
    assert html_to_markdown(PAGE) == (
        "Depot & yard",
        """# Times

Leaves on Friday,
at six.

## Fees

- Small: 4 euros
- Large:
  - 9 euros
1. Pack
2. Label

| Size | Fee |
| --- | --- |
| S | 4\\|5 |

```
def pay():
    return 4
```

Use `pay()`.""",
    )


def test_without_main_the_body_is_read_and_without_title_the_first_heading():
    page = html_to_markdown("<nav>Home</nav><h1>Gate</h1><p>Opens at five.</p>")
    assert page == ("Gate", "# Gate\n\nOpens at five.")


@pytest.mark.parametrize(
    "html", ["<p>a", "</div></p>", "<table><td>x", "<li>a</ul>b", "<", "<!--", "<pre>x", ""]
)
def test_broken_html_never_raises(html):
    html_to_markdown(html)


def test_code_that_holds_a_fence_gets_a_longer_one():
    assert html_to_markdown("<pre>```\nx\n```</pre>").text == "````\n```\nx\n```\n````"


@pytest.mark.parametrize(
    ("html", "line"),
    [
        ('<h2 id="fees">Fees</h2>', "## Fees {#fees}"),
        ('<h2><a name="fees"></a>Fees</h2>', "## Fees {#fees}"),
        ('<section id="fees"><h2>Fees<a href="#fees">¶</a></h2></section>', "## Fees {#fees}"),
        ('<div id="page"><p>x</p><h2>Fees</h2></div>', "x\n\n## Fees"),
        ('<h2 id="a b">Fees <small>2026</small></h2>', "## Fees 2026"),
    ],
)
def test_headings_keep_the_id_that_leads_to_them(html, line):
    assert html_to_markdown(html).text == line


@pytest.mark.parametrize(
    "html",
    [
        "<div role=navigation>no</div>", "<form><label>no</label><input value=no></form>",
        "<select><option>no</select>", "<svg><title>no</title></svg>", "<template>no</template>",
        '<p style="VISIBILITY : hidden">no', "<noscript>no</noscript>", '<img alt="no" src=x>',
        "<textarea>no</textarea>", "<p aria-hidden=TRUE>no</p>", "<!-- no -->", "<nav>no",
    ],
)  # fmt: skip
def test_what_is_not_read_on_a_page_is_left_out(html):
    """A page's text is what its readers see, or the model would be told what they are not."""
    assert html_to_markdown(f"<p>yes</p>{html}") == ("", "yes")


def test_a_form_around_a_whole_page_is_read():
    assert html_to_markdown("<form><h1>Gate</h1><p>Five.<input></form>").text == "# Gate\n\nFive."


def test_links_are_their_words_and_words_are_not_escaped():
    page = html_to_markdown('<p>Set <a href="https://evil.example">max_rows</a> * 2 <b>now</b> [1]')
    assert page.text == "Set max_rows * 2 now [1]"


def test_definitions_stand_below_their_term():
    html = "<dl><dt>Depot<dd>Where parcels wait.<dd><p>A yard.<dt>Gate<dd>The door.</dl>"
    assert html_to_markdown(html).text == (
        "Depot\n: Where parcels wait.\n: A yard.\n\nGate\n: The door."
    )


def test_cells_over_several_places_are_said_in_each_and_captions_above():
    html = (
        "<table><caption>Fees</caption><tr><th colspan=2>Parcel<tr><td rowspan=2>Small<td>4"
        "<tr><td>5 &lt; 6</table>"
    )
    assert html_to_markdown(html).text == (
        "Fees\n\n| Parcel | Parcel |\n| --- | --- |\n| Small | 4 |\n| Small | 5 < 6 |"
    )


def test_a_table_that_only_places_things_is_no_table():
    html = "<table><tr><td><h2>Fees</h2><p>Four.<td><table><tr><td>a<td>b</table></table>"
    assert html_to_markdown(html).text == "## Fees\n\nFour.\n\n| a | b |\n| --- | --- |"


HOSTILE = {
    "deep": "<div>" * 100_000 + "x" + "</p></b>" * 100_000,
    "lists": "<ul><li>" * 300 + "<p>x" * 100_000,
    "quotes": "<blockquote>" * 600 + "<p>x" * 100_000,
    "tables": "<table><tr><td><h2>x" * 20_000,
    "cells": "<table>" + "<tr><td colspan=1000 rowspan=60000>many words" * 20_000,
    "definitions": "<dl><dd>" * 60_000 + "x",
    "inline": "<b><i>" * 60_000 + "x",
    "signs": "<" * 1_000_000,
    "attributes": "<a " + "b=c " * 300_000 + ">x",
}


@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE)
def test_hostile_html_costs_no_more_than_its_length(html):
    started = time.process_time()
    text = html_to_markdown(html).text
    assert time.process_time() - started < 10  # about half a second
    assert len(text) < 50 * len(html)
