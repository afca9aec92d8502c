"""What the page of a log entry shows: the story of one run, in words.

In: a ``RunLog`` and what its reader may see. Out: plain values for the template, which escapes
them. What is not to be seen is not in them.
"""

from __future__ import annotations

import json
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from ..agents.search import SEARCH_TOOL_NAME
from ..indexing.diagnosis import REASONS
from ..models import RunLog

FAILURES = {
    "cut_off": gettext_lazy("The run ended before it."),
    "not_json": gettext_lazy("Declined: its arguments were not JSON."),
    "repeated": gettext_lazy("Declined: it had been asked before, and got the same result."),
    "too_long": gettext_lazy("Declined: its arguments were too long."),
    "too_many": gettext_lazy("Declined: too many calls at once."),
    "too_slow": gettext_lazy("It took longer than TOOL_SECONDS."),
    "unknown": gettext_lazy("Declined: the agent has no tool of this name."),
    "wrong_arguments": gettext_lazy("Its arguments were missing or wrong."),
}
"""What a step's ``failure`` means; others are names of exceptions."""
ROLES = {
    "system": gettext_lazy("instructions and sources"),
    "human": gettext_lazy("visitor"),
    "ai": gettext_lazy("model"),
    "tool": gettext_lazy("tool"),
}


def explained(entry: RunLog, *, with_text: bool, with_closed: bool) -> dict[str, Any]:
    """Return the values of the page.

    ``with_text``: what visitor, model and sources said; ``with_closed``: also what was found and
    the asker may not see.
    """
    turn = entry.run.turn
    return {
        "entry": entry,
        "run": entry.run,
        "turn": turn,
        "conversation": turn.conversation,
        "with_text": with_text,
        "sentences": sentences(entry),
        "steps": [
            _step(step, with_text=with_text, with_closed=with_closed) for step in entry.steps
        ],
        "sources": _sources(entry, with_text=with_text),
        "feedback": list(turn.feedback.all()),
    }


def sentences(entry: RunLog) -> list[str]:
    """Say in some sentences why the run came to its answer, without a word of anybody's."""
    tools = [step for step in entry.steps if step["kind"] == "tool"]
    searches = [s for s in tools if s["name"] == SEARCH_TOOL_NAME and not s["is_declined"]]
    sources = entry.sources
    cited = [source for source in sources if source["index"]]
    held = [source for source in sources if source["is_held"]]
    said = []
    if searches:
        hits = sum(row["fate"] == "hit" for search in searches for row in search["found"])
        said.append(
            ngettext("It searched once; hits: %(hits)d.",
                     "It searched %(count)d times; hits: %(hits)d.", len(searches))
            % {"count": len(searches), "hits": hits}
        )  # fmt: skip
    elif held:
        said.append(_("It did not search: it had the sources of the turn before."))
    elif entry.steps:
        said.append(_("It did not search."))
    if sources:
        said.append(
            ngettext("The model was given %(count)d source and cited %(cited)d.",
                     "The model was given %(count)d sources and cited %(cited)d of them.",
                     len(sources))
            % {"count": len(sources), "cited": len(cited)}
        )  # fmt: skip
    elif entry.steps:
        said.append(_("The model was given no source at all."))
    if entry.outcome in ("answered", "fallback") and not cited:
        said.append(_("Nothing in the answer is backed by a source."))
    if entry.outcome == "no_answer":
        said.append(_("The text is the agent's message for when it has no answer."))
    if wrong := entry.run.turn.invalid_citations:
        said.append(
            ngettext("One citation led to no source and was cut.",
                     "%(count)d citations led to no source and were cut.", wrong)
            % {"count": wrong}
        )  # fmt: skip
    if failed := sum(bool(step["failure"]) for step in tools):
        said.append(
            ngettext("One tool call failed or was declined.",
                     "%(count)d tool calls failed or were declined.", failed)
            % {"count": failed}
        )  # fmt: skip
    if any(step.get("finish_reason") == "length" for step in entry.steps):
        said.append(_("The model reached its output limit, so its text is cut."))
    if not entry.steps:
        said.append(_("How it went is not known: its process ended before it could say."))
    return said


def _step(step: dict[str, Any], *, with_text: bool, with_closed: bool) -> dict[str, Any]:
    shown = dict(step)
    if not with_text:
        for name in ("prompt", "text", "arguments", "message"):
            shown.pop(name, None)
    for message in shown.get("prompt", ()):
        message["speaker"] = ROLES.get(message["role"], message["role"])
    if step["kind"] == "tool":
        shown["failure"] = FAILURES.get(step["failure"], step["failure"])
        rows = [row for row in step["found"] if with_closed or row["fate"] != "closed"]
        shown["kinds"] = list(dict.fromkeys(kind for row in rows for kind in _scores(row)))
        shown["found"] = [_row(row, shown["kinds"]) for row in rows]
        shown["closed"] = len(step["found"]) - len(rows)
        shown["more"] = step["found_in_all"] - len(step["found"])
        shown["is_search"] = step["name"] == SEARCH_TOOL_NAME
        if "arguments" in shown:
            shown["arguments"] = _indented(shown["arguments"])
    return shown


def _row(row: dict[str, Any], kinds: list[str]) -> dict[str, Any]:
    scores = _scores(row)
    return {
        **row,
        "scores": [scores.get(kind) for kind in kinds],
        "is_hit": row["fate"] == "hit",
        "reason": "" if row["fate"] == "hit" else REASONS.get(row["fate"], row["fate"]),
    }


def _scores(row: dict[str, Any]) -> dict[str, float]:
    return row["scores"] or {row["score_kind"]: row["score"]}


def _sources(entry: RunLog, *, with_text: bool) -> list[dict[str, Any]]:
    texts = entry.run.turn.sources if with_text else []
    given = {number: source["chunks"] for number, source in enumerate(texts, start=1)}
    return [{**source, "chunks": given.get(source["number"], [])} for source in entry.sources]


def _indented(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False, indent=1)
    except ValueError:
        return arguments
