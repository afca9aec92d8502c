"""From the text of an answer to parts of safe HTML.

links      which addresses a link may lead to
sanitise   cleaning: text on its way in, HTML on its way out
markdown   markdown-it, set up for the text of one paragraph, heading or cell
inline     such a text -> HTML, cleaned by nh3
unfinished text that still grows -> text that looks finished
lines      pieces of text -> lines whose meaning can no longer change
grammar    what a line may begin: quote, list item, fence, heading, table
builder    lines -> blocks
blocks     blocks of text: their HTML, and what has to be sent after a change
containers quotes and lists, the same
tables     tables, the same
parts      ``PartRenderer``, the stage: text in, ``PartChanged`` out
references the cards of an answer's sources
notes      what is said below an answer that its sources do not bear
"""

from .links import LinkPolicy
from .parts import PartRenderer, render

__all__ = ["LinkPolicy", "PartRenderer", "render"]
