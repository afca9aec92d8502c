"""How well a folder of documentation is answered without a language model.

    python -m tests.benchmarks.bench_answers [--misses]

Indexes ``drf-docs`` of ``AI_ANSWERS_CORPUS`` (default: ``../shared/corpus``; skipped when it is
not there) with a ``DirectorySource`` and asks each question through the whole pipeline, a
follow-up after its first question. Reports by kind how often an expected page is among the
first five sources, among the cited ones, and how often there was an answer at all.
"""

from __future__ import annotations

import collections
import json
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(os.environ.get("AI_ANSWERS_CORPUS") or ROOT.parent / "shared" / "corpus")


def main() -> None:
    if not (CORPUS / "drf-docs").is_dir():
        print(f"skipped: no {CORPUS / 'drf-docs'}")
        return
    with tempfile.TemporaryDirectory() as folder:
        set_up(Path(folder))
        lines = (CORPUS / "drf-questions.jsonl").read_text().splitlines()
        measure([json.loads(line) for line in lines], misses="--misses" in sys.argv)


def set_up(folder: Path) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django
    from django.conf import settings

    settings.DATABASES["default"]["NAME"] = folder / "site.sqlite3"
    settings.AI_ANSWERS = {
        "RUNNER": "ai_answers.runs.runner.InlineRunner",
        "BUDGETS": {"site": {}, "agent": {}, "visitor": {}},
    }
    django.setup()
    from django.core.management import call_command

    from ai_answers.indexing import index_source
    from ai_answers.sources import PublicDirectorySource, register_source

    from ..content import make_agent

    call_command("migrate", verbosity=0, skip_checks=True)
    docs = PublicDirectorySource(path=CORPUS / "drf-docs", name="docs", base_url="/docs/")
    register_source(docs)
    print(index_source(docs))
    make_agent(chat_model="default")


def ask(text: str, conversation_id=None):
    from django.contrib.auth.models import AnonymousUser

    from ai_answers.answers.conversations import Question, open_turn
    from ai_answers.models import Turn
    from ai_answers.runs.runner import get_runner
    from ai_answers.values import Asker

    question = Question(text=text, agent="depot", conversation_id=conversation_id)
    asker = Asker(user=AnonymousUser(), language="en")
    spec = open_turn(question, asker, visitor="bench", payer="bench")
    get_runner().start(spec)
    return Turn.objects.get(pk=spec.turn_id)


def measure(questions: list[dict], *, misses: bool) -> None:
    counts = collections.defaultdict(collections.Counter)
    for row in questions:
        conversation_id = None
        if row.get("previous"):
            conversation_id = ask(row["previous"]).conversation_id
        turn = ask(row["question"], conversation_id)
        pages = set(row["pages"])
        # Held sources of the first turn come first; the five after them are this search's.
        found = [source["entity_id"] for source in turn.sources]
        first = set(found[-5:] if conversation_id else found[:5])
        cited = {reference["entity_id"] for reference in turn.references}
        count = counts[row["kind"]]
        count["asked"] += 1
        count["found"] += bool(pages & first)
        count["cited"] += bool(pages & cited)
        count["answered"] += turn.outcome == "answered"
        if misses and (not pages & cited if pages else turn.outcome == "answered"):
            print(f"- {row['id']} {row['kind']} {turn.outcome}: {row['question']}")
            print(f"    wanted {sorted(pages)}, found {found[:5]}, cited {sorted(cited)}")
    print(f"{'kind':16}{'asked':>7}{'among 5':>9}{'cited':>7}{'answered':>10}")
    for kind, count in sorted(counts.items()):
        print(
            f"{kind:16}{count['asked']:>7}{count['found']:>9}{count['cited']:>7}"
            f"{count['answered']:>10}"
        )


if __name__ == "__main__":
    main()
