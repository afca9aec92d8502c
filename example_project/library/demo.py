"""The agent of the library and the blocks it shows itself through, one set per language.

A site would click these together in the admin; the demo writes the same rows.
"""

from __future__ import annotations

from django.db import transaction
from django.urls import reverse
from django.utils import translation

from ai_answers.models import Agent, AgentTool, AnswerBlock, QuestionBlock, SourcesBlock

INSTRUCTIONS = """\
You answer for the Brackhaven City Library. Be friendly and brief: one to four sentences, or a
short list where several facts are asked for. Give times, prices and places exactly as they are
written in the sources. Answer in the language of the question. You cannot see loans or accounts
and cannot renew or reserve anything; say where readers can do it themselves.
"""

TEXTS = {
    "en": {
        "suffix": "",
        "placeholder": "Ask the library …",
        "submit": "Ask",
        "empty": "Ask your question in the box at the top. For instance: how long may I keep a "
        "film, or where can I print in colour?",
        "sources": "Where this comes from",
        "suggested": [
            "How much is a library card?",
            "When is the Harbour branch open on Sunday?",
            "Can I borrow a sewing machine?",
        ],
    },
    "de": {
        "suffix": "-de",
        "placeholder": "Fragen Sie die Bibliothek …",
        "submit": "Fragen",
        "empty": "Stellen Sie Ihre Frage oben im Feld. Zum Beispiel: Wie lange darf ich einen "
        "Film behalten, oder wo kann ich in Farbe drucken?",
        "sources": "Woher das stammt",
        "suggested": [
            "Was kostet ein Bibliotheksausweis?",
            "Wann hat die Zweigstelle Hafen am Sonntag geöffnet?",
            "Kann ich eine Nähmaschine ausleihen?",
        ],
    },
}


@transaction.atomic
def set_up_answers() -> Agent:
    """Create the agent, its two tools and all blocks, or bring them up to date."""
    agent, _ = Agent.objects.update_or_create(
        slug="library",
        defaults={
            "name": "Brackhaven City Library",
            "enabled": True,
            "access": Agent.Access.PUBLIC,
            "instructions": INSTRUCTIONS,
        },
    )
    AgentTool.objects.update_or_create(
        agent=agent, tool=AgentTool.SEARCH, defaults={"index": "default"}
    )
    AgentTool.objects.update_or_create(
        agent=agent,
        tool="events_between",
        defaults={"order": 1, "is_source": True, "max_results": 20},
    )
    for language, texts in TEXTS.items():
        set_up_blocks(agent, language, texts)
    return agent


def set_up_blocks(agent: Agent, language: str, texts: dict) -> None:
    """One answer block, its sources, and the question boxes of header and home page."""
    suffix = texts["suffix"]
    answer, _ = AnswerBlock.objects.update_or_create(
        slug=f"main{suffix}",
        defaults={
            "name": f"Answer page ({language})",
            "agent": agent,
            "show_references": False,  # They stand at the side.
            "empty_message": texts["empty"],
        },
    )
    SourcesBlock.objects.update_or_create(
        slug=f"side{suffix}",
        defaults={
            "name": f"Sources beside the answer ({language})",
            "target": answer,
            "label": texts["sources"],
        },
    )
    with translation.override(language):
        answer_page = reverse("library:ask")
    for place, suggested in (("header", []), ("home", texts["suggested"])):
        QuestionBlock.objects.update_or_create(
            slug=f"{place}{suffix}",
            defaults={
                "name": f"Question box: {place} ({language})",
                "target": answer,
                "target_url": answer_page,
                "placeholder": texts["placeholder"],
                "submit_label": texts["submit"],
                "suggested_questions": "\n".join(suggested),
            },
        )
