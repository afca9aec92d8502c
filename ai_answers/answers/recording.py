"""Keep the record of one run for its log entry.

In: what the run begins with, then the agent's events as they come, then how it ended. Out: the
fields of a ``RunLog``. Times are seconds since the record was made. Texts (prompts, tool calls
and what they brought, the model's own words) are kept only with ``keep_text``; without it the
record says how a run went and not what was said in it. No Django, no I/O: feed it events.

A step is a dict with ``kind``, ``at``, ``seconds``, and

- ``round``: ``number, first_content_seconds, finish_reason, input_tokens, output_tokens,
  messages, characters, is_cut_off``; with text also ``prompt`` (``[{role, text}]``, those that no
  earlier step shows) and ``text``;
- ``tool``: ``name, round, failure, is_declined, notes, found``; with text also ``arguments`` and
  ``message``. ``found`` lists objects (``entity_type, entity_id, title, language, position,
  scores, score, score_kind, fate``), best first.
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..agents.search import SEARCH_TOOL_NAME, SearchOutput
from ..agents.text import clean_text, clean_value, text_of
from ..events import (
    Event,
    PromptSent,
    RoundFinished,
    RoundStarted,
    TextDelta,
    ToolDeclined,
    ToolFinished,
    ToolStarted,
)
from ..exceptions import trace
from ..tools import Listing
from ..values import Hit, Source, Usage

logger = logging.getLogger(__name__)

MOST_FOUND = 50
"""Chunks of one tool call that are noted."""
LONGEST_REASON = 50

Step = dict[str, Any]


class RunRecord:
    """What one run did, in order."""

    def __init__(self, *, keep_text: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self.id = uuid.uuid4()
        """Of the log entry (S69)."""
        self.keep_text = keep_text
        self._clock = clock
        self._began = clock()
        self._facts: dict[str, Any] = {}
        self._held: set[int] = set()
        self._steps: list[Step] = []
        self._round: Step | None = None
        self._text: list[str] = []
        self._tools: dict[str, Step] = {}
        self._shown: set[tuple[str, str]] = set()
        self._first_content: float | None = None

    def begin(
        self, *, chat_model: str, model_name: str, history: int, held: Iterable[Source]
    ) -> None:
        """Note what the run starts from; ``history`` in turns, ``held`` from the turn before."""
        self._facts = {"chat_model": chat_model, "model_name": model_name, "history": history}
        self._held = {source.number for source in held}

    def feed(self, event: Event) -> None:
        """Note ``event``, which has just happened; no answer is lost for its record (D46)."""
        try:
            self._note(event)
        except Exception as error:
            logger.error("An event of a run could not be noted: %s", trace(error))

    def _note(self, event: Event) -> None:
        match event:
            case RoundStarted():
                self._begin_round(event.number)
            case PromptSent():
                self._note_prompt(event.messages)
            case TextDelta():
                self._note_text(event.text)
            case RoundFinished():
                self._end_round(event.usage, event.finish_reason)
            case ToolStarted():
                self._begin_tool(event)
            case ToolFinished():
                self._end_tool(event)
            case ToolDeclined():
                self._decline(event)

    def entry(
        self, *, sources: Iterable[Source], cited: Sequence[int], usage: Usage
    ) -> dict[str, Any]:
        """Return the fields of the log entry; ``cited``: the model's numbers, in reader's order."""
        self._cut_off(usage)
        searches = [s["seconds"] for s in self._steps if s.get("name") == SEARCH_TOOL_NAME]
        return {
            "id": self.id,
            **self._facts,
            "search_seconds": round(sum(searches), 3) if searches else None,
            "first_content_seconds": self._first_content,
            "total_seconds": self._now(),
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "has_text": self.keep_text,
            "steps": self._steps,
            "sources": [self._source(source, cited) for source in sources],
        }

    def _begin_round(self, number: int) -> None:
        self._text = []
        self._round = self._add(
            kind="round",
            number=number,
            first_content_seconds=None,
            finish_reason="",
            input_tokens=0,
            output_tokens=0,
            messages=0,
            characters=0,
            is_cut_off=False,
        )

    def _note_prompt(self, messages: Sequence[Any]) -> None:
        step = self._round
        # What is reserved and checked before a call is not the model's time.
        step["sent_at"] = self._now()
        step["messages"] = len(messages)
        if self.keep_text:
            texts = ((m.type, clean_text(text_of(m.content))) for m in messages)
            new = [pair for pair in texts if pair[1].strip() and pair not in self._shown]
            self._shown.update(new)
            step["prompt"] = [{"role": role, "text": text} for role, text in new]

    def _note_text(self, text: str) -> None:
        if self._first_content is None:
            self._first_content = self._now()
        if (step := self._round) is None:
            return
        if step["first_content_seconds"] is None:
            step["first_content_seconds"] = round(self._now() - step.get("sent_at", step["at"]), 3)
        step["characters"] += len(text)
        if self.keep_text:
            self._text.append(text)

    def _end_round(self, usage: Usage, finish_reason: str) -> None:
        step = self._round
        step["seconds"] = round(self._now() - step["at"], 3)
        step["finish_reason"] = clean_text(finish_reason)[:LONGEST_REASON]
        step["input_tokens"] = usage.input_tokens
        step["output_tokens"] = usage.output_tokens
        self._keep_written(step)
        self._round = None

    def _keep_written(self, step: Step) -> None:
        if self.keep_text:
            step["text"] = "".join(self._text)
            self._shown.add(("ai", step["text"]))

    def _begin_tool(self, event: ToolStarted) -> None:
        step = self._tools[event.call_id] = self._tool(event.name)
        if self.keep_text:
            step["arguments"] = _plain(event.arguments)

    def _end_tool(self, event: ToolFinished) -> None:
        step = self._tools.pop(event.call_id)
        step["seconds"] = round(event.seconds, 3)
        step["failure"] = event.failure
        output = event.output
        if isinstance(output, SearchOutput):
            step["notes"] = list(output.notes)
            fates = {id(c.hit): c.fate for c in output.candidates}
            hits = [c.hit for c in output.candidates] or output.hits
            step["found"] = [_hit(hit, fates.get(id(hit), "hit")) for hit in hits[:MOST_FOUND]]
            step["found_in_all"] = len(hits)
        elif isinstance(output, Listing):
            step["found"] = [_hit(hit, "hit") for hit in output.hits[:MOST_FOUND]]
            step["found_in_all"] = len(output.hits) + output.left_out
        if self.keep_text:
            step["message"] = clean_text(event.message)
            self._shown.add(("tool", step["message"]))

    def _decline(self, event: ToolDeclined) -> None:
        # A name that no tool has is the model's own words.
        name = "" if event.reason == "unknown" and not self.keep_text else event.name
        step = self._tool(name)
        step |= {"failure": event.reason, "is_declined": True}

    def _tool(self, name: str) -> Step:
        rounds = [step["number"] for step in self._steps if step["kind"] == "round"]
        return self._add(
            kind="tool",
            name=name,
            round=rounds[-1] if rounds else 0,
            failure="",
            is_declined=False,
            notes=[],
            found=[],
            found_in_all=0,
        )

    def _add(self, **step: Any) -> Step:
        self._steps.append({"at": self._now(), "seconds": 0.0, **step})
        return self._steps[-1]

    def _cut_off(self, usage: Usage) -> None:
        """End what was going on when the run ended."""
        for step in self._tools.values():
            step["seconds"] = round(self._now() - step["at"], 3)
            step["failure"] = "cut_off"
        self._tools = {}
        if (step := self._round) is None:
            return
        # The loop counts a round that was cut off, and tells nobody.
        for name in ("input_tokens", "output_tokens"):
            others = sum(s[name] for s in self._steps if s["kind"] == "round")
            step[name] = max(getattr(usage, name) - others, 0)
        step["seconds"] = round(self._now() - step["at"], 3)
        step["is_cut_off"] = True
        self._keep_written(step)
        self._round = None

    def _source(self, source: Source, cited: Sequence[int]) -> dict[str, Any]:
        return {
            "number": source.number,
            "index": cited.index(source.number) + 1 if source.number in cited else None,
            "entity_type": source.key.entity_type,
            "entity_id": source.key.entity_id,
            "title": clean_text(source.title),
            "language": source.language,
            "score": source.score,
            "score_kind": source.score_kind,
            "positions": [chunk.position for chunk in source.chunks],
            "is_held": source.number in self._held,
        }

    def _now(self) -> float:
        return round(self._clock() - self._began, 3)


def _hit(hit: Hit, fate: str) -> dict[str, Any]:
    chunk = hit.chunk
    return {
        "entity_type": chunk.key.entity_type,
        "entity_id": chunk.key.entity_id,
        "title": clean_text(chunk.title),
        "language": chunk.language,
        "position": chunk.position,
        "score": _rounded(hit.score),
        "score_kind": hit.score_kind,
        "scores": {kind: _rounded(score) for kind, score in hit.scores.items()},
        "fate": fate,
    }


def _rounded(score: float) -> float:
    return round(float(score), 4)


def _plain(arguments: Mapping[str, Any]) -> str:
    """Write arguments as text: a receiver may have put anything into them."""
    return json.dumps(clean_value(dict(arguments)), ensure_ascii=False, default=str)
