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


def test_deep_and_unbalanced_html_is_read_in_linear_time():
    html_to_markdown("<div>" * 20_000 + "x" + "</p></b>" * 20_000)
