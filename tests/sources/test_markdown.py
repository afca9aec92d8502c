import pytest

from ai_answers.sources.markdown import markdown_page


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('---\ntitle: "Depot"\n---\n# Other', "Depot"),
        ("Depot\n=====\n\nText", "Depot"),
        ("Text\n\n## The `depot` {#yard}\n", "The depot"),
        ("```\n# no\n```\n\n- # no\n\n# Depot #", "Depot"),
        ("    # no\n\nText", ""),
        ("", ""),
    ],
)
def test_the_title_is_that_of_the_front_matter_or_the_first_heading(text, title):
    assert markdown_page(text)[0] == title


def test_what_no_reader_sees_is_left_out_but_not_from_code():
    text = (
        "Seen [guide][1]. <!-- draft\n\nkey 7 -->\n\n[1]: https://example.org/ 'Guide'\n\n"
        "[^note]: Kept.\n\n- item\n\n    ```\n    <!-- kept -->\n    [2]: kept\n    ```\n\n"
        "<script>\nsteal()\n</script>\n\n    <!-- indented -->"
    )
    page = markdown_page(text)[1]
    for word in ("draft", "key 7", "example.org", "steal"):
        assert word not in page
    for word in ("Seen [guide][1].", "[^note]: Kept.", "<!-- kept -->", "[2]: kept", "indented"):
        assert word in page


def test_a_text_with_nothing_to_leave_out_is_as_it_was():
    text = "# A\n\ntext  \n\n\n```\n\tx\n```\n"
    assert markdown_page(text)[1] == text
    assert markdown_page(text.replace("\n", "\r\n"))[1] == text
