"""Where a link may lead. The right column is what a browser on the site would do with it."""

from __future__ import annotations

import pytest

from ai_answers.rendering import LinkPolicy, render

SITE = LinkPolicy(
    base="https://site.example/",
    hosts=frozenset({"docs.example", "wiki.example:8443", ".team.example", "http://old.example"})
    | {"münchen.example", "*"},
    mail_domains=frozenset({"site.example"}),
)

ALLOWED = [
    "/",
    "/help",
    "/help?code=1&x=2#top",
    "/a//b",
    "/a:b",
    "/wiki/Überblick",
    "/.//evil.example",
    "#section",
    "?page=2",
    "https://site.example",
    "https://site.example/a/b?c#d",
    "HTTPS://SITE.EXAMPLE/A",
    "https://site.example:443/x",
    "https://site.example?x=https://evil.example/",
    "https://docs.example/x",
    "https://wiki.example:8443/x",
    "https://team.example/",
    "https://a.b.team.example/",
    "http://old.example/x",
    "https://münchen.example/",
    "https://xn--mnchen-3ya.example/",
    "mailto:help@site.example",
    "MAILTO:Help@SITE.example",
]
REFUSED = [
    "",
    " ",
    "//evil.example/",
    "///evil.example/",
    "/\\evil.example",
    "\\/evil.example",
    "\\\\evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "\t//evil.example",
    " https://site.example/",
    "https:evil.example",
    "https:/evil.example",
    "https:///evil.example",
    "https:\\\\evil.example",
    "https://evil.example",
    "https://evil.example/https://site.example/",
    "https://site.example.evil.example/",
    "https://evil.example?https://site.example/",
    "https://site.example@evil.example/",
    "https://site.example:x@evil.example/",
    "https://user@site.example/",
    "https://site.example%2f@evil.example",
    "https://site.example%2eevil.example/",
    "https://site.example\\@evil.example/",
    "https://evil.example\\.site.example/",
    "https://site.example\t.evil.example/",
    "https://site.example\u3002evil.example/",
    "https://si\u200bte.example/",
    "https://s\u0456te.example/",
    "https://site.example./",
    "https://site.example:8443/",
    "https://site.example:/",
    "https://site.example:99999999/",
    "https://docs.example:8080/",
    "https://xdocs.example/",
    "https://x.docs.example/",
    "https://evilteam.example/",
    "https://*/",
    "https://.team.example.evil.example/",
    "https://old.example/x",
    "http://docs.example/",
    "http://site.example/",
    "http://0x7f000001/",
    "http://2130706433/",
    "http://127.1/",
    "http://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://straße.example/",
    "https://site_.example/",
    "ftp://site.example/",
    "ws://site.example/",
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "java\tscript:alert(1)",
    "java\nscript:alert(1)",
    "\x01javascript:alert(1)",
    "javascript://site.example/%0aalert(1)",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:https://site.example/x",
    "view-source:https://site.example/",
    "tel:*#06#",
    "sms:1",
    "mailto:a@evil.example",
    "mailto:a@site.example?bcc=evil@x.example&body=SECRET",
    "mailto:a@site.example,b@evil.example",
    "mailto:a@b@site.example",
    "mailto:",
    '/x"onclick="y',
    "/x<y>",
    "/x y",
    "/" + "x" * 2048,
]


@pytest.mark.parametrize("url", ALLOWED)
def test_an_address_on_the_site_or_its_list_is_a_link(url):
    """S92 as design 1.11 has it: the origin a browser resolves is what counts."""
    assert SITE.allows(url)
    assert SITE.href(url) == url


@pytest.mark.parametrize("url", REFUSED)
def test_an_address_that_leads_or_may_lead_elsewhere_is_no_link(url):
    """P11, H34, H37, H38, H40-H42."""
    assert not SITE.allows(url)


@pytest.mark.parametrize("url", ["help", "help/a.html?x#y", "./help", "../help", ".//evil.example"])
def test_a_relative_path_is_resolved_against_the_site(url):
    assert SITE.href(url).startswith("https://site.example/")


@pytest.mark.parametrize("url", ["javascript%3Aalert(1)", "a%5c%5cevil.example"])
def test_an_encoded_scheme_or_slash_stays_a_path(url):
    assert SITE.href(url) == f"https://site.example/{url}"


def test_a_site_without_encryption_may_link_to_its_hosts_without():
    links = LinkPolicy(base="http://localhost:8000/", hosts=frozenset({"docs.example"}))
    assert links.allows("http://localhost:8000/x")
    assert links.allows("http://docs.example/x")
    assert not links.allows("http://localhost/x")
    assert not links.allows("https://localhost:8000/x")


def test_without_a_site_only_relative_links_are_left():
    links = LinkPolicy()
    assert links.href("help/x") == "help/x"
    assert links.allows("/x")
    assert not links.allows("https://site.example/")
    assert not links.allows("x:y")
    assert not links.allows("a@b:c/d")


def test_a_refused_link_keeps_its_text_and_an_allowed_one_its_address():
    html = render(
        "[a *b*](//evil.example/) <https://evil.example/> [c](/d?e=1&f=2)",
        links=SITE,
        reference_count=0,
    )
    assert html == (
        "<p>a <em>b</em> https://evil.example/ "
        '<a href="/d?e=1&amp;f=2" rel="nofollow noreferrer">c</a></p>'
    )


def test_a_definition_makes_no_link():
    """H02: the address of a link stands where the link stands, or nowhere."""
    html = render("[a][z] [z]\n\n[z]: /x\n\n[a]: /y", links=SITE, reference_count=0)
    assert "<a" not in html


def test_links_beyond_thirty_are_text_in_a_whole_answer_and_streamed():
    """H42."""
    text = "\n\n".join("- [a](/x) [b](/y)\n\n[c](/z)" for _ in range(20))
    assert render(text, links=SITE, reference_count=0).count("<a ") == 30
