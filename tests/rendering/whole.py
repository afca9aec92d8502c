"""The measure: the same text, its blocks read by markdown-it at once.

Only blocks are judged here, so the phrases in them come from the package itself.
"""

from __future__ import annotations

from html import escape

from markdown_it import MarkdownIt

from ai_answers.rendering.inline import InlineRenderer
from ai_answers.rendering.links import LinkPolicy
from ai_answers.rendering.sanitise import clean_text


def render_at_once(text: str, *, links: LinkPolicy, reference_count: int = 0) -> str:
    """What the parts of an answer must be when joined, as markdown-it reads it."""
    inline = InlineRenderer(links=links, reference_count=reference_count)
    out: list[str] = []
    around: list[str] = []
    text = clean_text(text.replace("\r\n", "\n").replace("\r", "\n"))
    # The end of the text ends its last line: code keeps its line break then too.
    for token in _MARKDOWN.parse(text.removesuffix("\n") + "\n"):
        kind = token.type
        if kind == "inline":
            out.append(inline.render(token.content, is_final=True).html)
        elif kind in ("fence", "code_block"):
            code = escape(token.content, quote=False).replace("\xa0", "&nbsp;")
            out.append(f"<pre><code>{code}</code></pre>")
        elif kind == "paragraph_open":
            is_bare = bool(around) and around[-1] == "li" and out[-1] == "<li>"
            around.append("" if is_bare else "p")
            out.append("" if is_bare else "<p>")
        elif kind == "paragraph_close":
            out.append("</p>" if around.pop() else "")
        elif kind == "table_close":
            out.append("</table>" if out[-1] == "</tbody>" else "<tbody></tbody></table>")
            around.pop()
        elif token.nesting == 0:
            out.append("<hr>")
        else:
            tag = token.tag
            if tag[0] == "h":
                tag = f"h{min(int(tag[1]) + 2, 6)}"
            if token.nesting > 0:
                around.append(tag)
                out.append(f"<{tag}{_attributes(token.attrs)}>")
            else:
                around.pop()
                out.append(f"</{tag}>")
    return "".join(out)


def _attributes(attrs: dict[str, object]) -> str:
    if "start" in attrs:
        return f' start="{attrs["start"]}"'
    style = str(attrs.get("style", ""))
    return f' data-align="{style.removeprefix("text-align:")}"' if style else ""


_MARKDOWN = MarkdownIt("commonmark", {"html": False, "maxNesting": 200})
_MARKDOWN.enable("table").disable(["reference", "html_block"])
