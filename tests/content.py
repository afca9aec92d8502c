"""Content and agents that several tests share: the pages of a small depot."""

from __future__ import annotations

from typing import Any

from ai_answers.indexing import index_source
from ai_answers.models import Agent, AgentTool
from ai_answers.sources import get_source

from .site.models import Article

PAGES = [
    {
        "title": "Depot times",
        "body": "Parcels leave the depot on Friday at six. The gate opens at five.",
        "title_de": "Zeiten des Depots",
        "body_de": "Pakete verlassen das Depot am Freitag um sechs. Das Tor öffnet um fünf.",
    },
    {
        "title": "Fees",
        "body": "A parcel of up to two kilograms costs four euros. Insurance is extra.",
    },
    {"title": "Labels", "body": "Every parcel needs a label with the address in capital letters."},
    {
        "title": "Members' lounge",
        "body": "The lounge behind the depot serves coffee to members until nine.",
        "audience": "members",
    },
    {
        "title": "Alarm routine",
        "body": "The depot alarm is armed with the code word heron at closing.",
        "audience": "staff",
    },
]


def make_pages() -> list[Article]:
    """Create the pages and index them."""
    pages = [Article.objects.create(**page) for page in PAGES]
    index_source(get_source("site.article"))
    return pages


def make_agent(**fields: Any) -> Agent:
    """Create an agent that is usable: public, scripted, with a search tool."""
    defaults = {
        "name": "Depot",
        "slug": "depot",
        "access": Agent.Access.PUBLIC,
        "chat_model": "scripted",
    }
    agent = Agent.objects.create(**defaults | fields)
    AgentTool.objects.create(agent=agent, tool=AgentTool.SEARCH, index="default")
    return agent
