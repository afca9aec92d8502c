"""What a model or a quoted page may write, and what a browser gets of it."""

from __future__ import annotations

import nh3
import pytest

from ai_answers.rendering import LinkPolicy, PartRenderer, render
from ai_answers.rendering.sanitise import (
    ALLOWED_ATTRIBUTES,
    ALLOWED_TAGS,
    clean_phrases,
    clean_text,
)
from tests.rendering.page import Page, read
from tests.rendering.payloads import PAYLOADS, judge

LINKS = LinkPolicy(base="https://site.example/")
FORBIDDEN = {"script", "style", "img", "svg", "math", "iframe", "form", "input", "button", "base"}
FORBIDDEN |= {"object", "embed", "meta", "link", "template", "noscript", "textarea", "title"}


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_a_hostile_answer_holds_only_listed_tags_at_every_byte(payload):
    """S88-S92, P09, P12: every prefix is stopped there, and streams on from there."""
    streaming, page = PartRenderer(links=LINKS, reference_count=1), Page()
    for end in range(len(payload)):
        judge(render(payload[:end], links=LINKS, reference_count=1))
        page.apply(streaming.feed(payload[end]))
        judge("".join(page.html()))
        judge("".join(streaming.parts))
    page.apply(streaming.flush())
    assert "".join(page.html()) == render(payload, links=LINKS, reference_count=1)


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_a_sanitiser_finds_nothing_to_change_in_a_finished_answer(payload):
    """Parsing it like a browser and writing it again gives the same, so no mutation helps."""
    html = render(payload, links=LINKS, reference_count=1)
    attributes = {tag: set(names) for tag, names in ALLOWED_ATTRIBUTES.items()}
    assert nh3.clean(html, tags=set(ALLOWED_TAGS), attributes=attributes, link_rel=None) == html


def test_the_lists_name_nothing_that_runs_fetches_or_clobbers():
    """P10, P15: no element that fetches, no id, name, style or event handler."""
    names = {name for listed in ALLOWED_ATTRIBUTES.values() for name in listed}
    assert not FORBIDDEN & ALLOWED_TAGS
    assert names == {"href", "rel", "data-ref-index", "class", "start", "data-align"}


def test_html_in_an_answer_is_shown_as_text():
    """S89."""
    html = render("A <b>bold</b> claim & <br>", links=LINKS, reference_count=0)
    assert html == "<p>A &lt;b&gt;bold&lt;/b&gt; claim &amp; &lt;br&gt;</p>"


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_the_second_layer_holds_alone(payload):
    """S88, S90: HTML that got past the first layer loses all but phrases and safe links."""
    html = clean_phrases(clean_text(payload) + '<a href="javascript:x" rel="x" onclick="y">z</a>')
    tags = {element.tag for element in _all(read(html))}
    assert tags <= {"root", "a", "bdi", "br", "code", "em", "s", "strong", "sup"}
    assert "javascript:" not in "".join(
        value for element in _all(read(html)) for _, value in element.attrs
    )


def _all(element):
    yield element
    for child in element.elements:
        yield from _all(child)


def test_template_code_is_printed_as_it_is():
    text = "{{ settings.SECRET_KEY }} {% debug %} ${7*7}"
    assert render(text, links=LINKS, reference_count=0) == f"<p>{text}</p>"


def test_control_characters_and_overrides_do_not_reach_the_page():
    html = render("a\x1b[2J\x07b\x00 \u202ec &#x202e;d \ud83d", links=LINKS, reference_count=0)
    assert html == "<p>a[2Jb\ufffd c d \ufffd</p>"


def test_combining_marks_are_clipped():
    html = render("e" + "\u0301" * 300 + "!", links=LINKS, reference_count=0)
    assert html == "<p>e" + "\u0301" * 8 + "!</p>"


def test_a_pair_of_surrogates_cut_in_two_is_one_character():
    """P8 of the citation cases: text may be cut inside a character."""
    renderer = PartRenderer(links=LINKS)
    renderer.feed("a \ud83d")
    renderer.feed("\ude00 b")
    renderer.flush()
    assert renderer.parts == ["<p>a \U0001f600 b</p>"]
