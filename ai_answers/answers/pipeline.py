"""One turn from question to closing; the only place that knows the order of the stages.

In: a ``RunSpec``, ``emit``, which takes frames, and ``step``, a context manager around each change
of state with its frames, so that a snapshot from another thread is exact. Out: frames as they
come, then ``close`` gives the ``Closing`` to save. ``run`` may be cancelled at any await: what
was written stays, and ``close`` tells it. All of it runs on one event loop; database work goes
through bursts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from dataclasses import replace
from typing import Any

from ..agents.context import AgentRunContext, running
from ..agents.loop import run_agent
from ..agents.search import SearchOutput
from ..agents.tools import ToolCall
from ..bursts import burst, search_burst
from ..conf import app_settings
from ..events import (
    Event,
    ModelReplaced,
    RoundFinished,
    RoundStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from ..rendering.notes import render_note
from ..sources.access import viewable
from ..sources.block import new_boundary, render_sources
from ..values import Frame, Outcome, Source, Usage
from .budgets import reserve_round
from .coalescing import Coalescer
from .conversations import RunSpec
from .links import link_policy
from .no_answer import says_none
from .preparing import Prepared, prepare
from .recording import RunRecord
from .reviewing import Review, review
from .shown import ShownReferences, render_shown
from .sourcing import to_json
from .tool_output import tool_message
from .tracing import RunEnd, RunTrace, run_start, start_trace
from .turns import Closing
from .writing import AnswerWriter

logger = logging.getLogger(__name__)

PIECE_CHARS = 1_000
"""Text taken in at once, so that no answer holds up the loop."""


class Pipeline:
    """The stages of one turn."""

    def __init__(
        self,
        spec: RunSpec,
        *,
        emit: Callable[[Frame], Any],
        step: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        self.spec = spec
        self.phase = ""
        self.reserved = spec.reserved
        self._context: AgentRunContext | None = None
        self._round = 0
        self._is_fallback = False
        self._first_sources: tuple[Source, ...] = ()
        self._emit = emit
        self._step = step
        self._prepared: Prepared | None = None
        self._boundary = new_boundary()
        self._shown = ShownReferences()
        self._length = 0
        self._notes: dict[str, None] = {}
        self._review = Review()
        self.is_written = False
        """Whether the answer is complete; what is still to come only judges it."""
        self._record = RunRecord(keep_text=app_settings().LOG_TEXT)
        self._trace = RunTrace()
        self._writer = AnswerWriter(
            format=spec.format,
            links=link_policy(spec.origin),
            titles=self._titles,
            key_of=self._key_of,
            emit=emit,
        )

    async def run(self) -> None:
        """Answer: from the first search to the last delta."""
        prepared = self._prepared = await search_burst(prepare, self.spec)
        self._first_sources = prepared.sources.all
        self._record.begin(
            chat_model=prepared.agent.chat_model,
            model_name=prepared.agent.model_name,
            history=len(prepared.history) // 2,
            held=self._first_sources,
        )
        self._trace = start_trace(run_start(self.spec, prepared.agent, prepared.question))
        if self._first_sources:
            await self._show_sources()
        context = self._context = AgentRunContext(
            run_id=str(self.spec.run_id),
            agent=prepared.agent,
            asker=prepared.asker,
            boundary=self._boundary,
            sources_block=self._sources_block,
            on_tool_output=self._take_tool_output,
        )
        coalescer = Coalescer(self._flush, idle=self._catch_up)
        try:
            # The context lasts as long as the stream is read (S29): later rounds run lazily.
            with running(context), self._trace.active():
                events = run_agent(
                    context,
                    history=prepared.history,
                    question=prepared.question,
                    force_search=prepared.must_search,
                )
                async with aclosing(events):
                    await self._read(events, coalescer)
            await self._check_access()
            await self._compare()
        finally:
            coalescer.cancel()

    async def _read(self, events: Any, coalescer: Coalescer) -> None:
        limit = app_settings().MAX_ANSWER_CHARS
        async for event in events:
            self._record.feed(event)
            self._trace.feed(event)
            if isinstance(event, TextDelta):
                room = limit - self._length
                self._length += len(event.text)
                self._set_phase("writing")
                await self._write(event.text[:room], coalescer)
                if self._length > limit:
                    logger.warning(
                        "The answer of run %s was cut at %d characters.", self.spec.run_id, limit
                    )
                    return
            else:
                coalescer.flush()
                self._catch_up()
                await self._receive(event)

    async def _write(self, text: str, coalescer: Coalescer) -> None:
        # A model that does not stream gives all at once; other runs must not wait for that.
        for start in range(0, len(text), PIECE_CHARS):
            if start:
                await asyncio.sleep(0)
            self._writer.write(text[start : start + PIECE_CHARS])
            if self._writer.has_pending:
                coalescer.touch()

    async def _receive(self, event: Event) -> None:
        if isinstance(event, RoundStarted):
            self._round = event.number
            self._set_phase("reading")
            if event.number > 1:
                await self._check_access()
                self.reserved = await burst(reserve_round, self.spec.run_id, self._prepared.agent)
        elif isinstance(event, RoundFinished) and event.is_cut:
            self._notes["The chat model stopped at its output limit."] = None
        elif isinstance(event, ModelReplaced):
            self._is_fallback = True
            self._notes[str(event)] = None
        elif isinstance(event, ToolStarted):
            self._set_phase("searching", event.query)
        elif isinstance(event, ToolFinished):
            await self._show_sources()

    def close(self, outcome: Outcome | None = None, *, error_code: str = "") -> Closing:
        """Flush every stage and say what the turn ended with; ``None``: judge by the text."""
        writer = self._writer
        with self._step():
            writer.close()
            if outcome is None:
                outcome = self._judge()
                if outcome == "no_answer":
                    self._say_none()
                writer.add(render_note(self._review.support))
        sources = self._prepared.sources.all if self._prepared else ()
        # From the context: it also counts a round that was cut off.
        usage = self._context.usage if self._context else Usage()
        self._trace.end(
            RunEnd(outcome=outcome, usage=usage, error_code=error_code, text=writer.text)
        )
        return Closing(
            outcome=outcome,
            text=writer.text,
            parts=tuple(writer.parts),
            references=tuple(r.as_dict() for r in self._shown.cited(writer.cited)),
            sources=tuple(to_json(sources)),
            usage=usage,
            invalid_citations=writer.invalid_citations,
            support=self._review.support,
            notes=tuple(self._notes),
            error_code=error_code,
            record=self._record.entry(sources=sources, cited=writer.cited, usage=usage),
            trace_id=self._trace.id,
        )

    def ids(self) -> dict[str, Any]:
        """What every reader is told first."""
        spec = self.spec
        return {
            "conversation_id": str(spec.conversation_id),
            "turn": spec.position,
            "run": str(spec.run_id),
        }

    def snapshot_frame(self) -> dict[str, Any]:
        """The ``snapshot`` frame's data: ids, phase, references, and text or parts."""
        state = self.snapshot()
        state.pop("text" if self.spec.format == "html" else "parts")
        return {**self.ids(), **state}

    def snapshot(self) -> dict[str, Any]:
        """The state that the frames emitted so far add up to."""
        return {
            "phase": self.phase,
            "references": self._shown.as_dicts(self._writer.cited),
            "text": self._writer.text,
            "parts": self._writer.parts,
        }

    def _say_none(self) -> None:
        """Leave the reader with a message, and with no source offered as support."""
        writer = self._writer
        # What was written stays where it was read already, or says the same (S33, G18).
        stays = not writer.is_empty and (self.spec.streamed or self._prepared.sources.all)
        if writer.cited or (writer.text and not stays):
            if stays and (closest := self._shown.cited(writer.cited)):
                # What a model cites for having found nothing comes closest, and supports nothing.
                pages = [replace(reference, index=None).as_dict() for reference in closest]
                self._review = Review(support={"verdict": "none", "closest": pages})
            writer.retract() if stays else writer.clear()
            # Markers have been read (G17): readers begin anew.
            self._emit(Frame(kind="snapshot", data=self.snapshot_frame()))
        if not stays:
            writer.say(self._prepared.no_answer_message)  # S31

    def _flush(self) -> None:
        with self._step():
            self._writer.flush()

    def _catch_up(self) -> None:
        with self._step():
            self._writer.catch_up()

    def _judge(self) -> Outcome:
        writer, found = self._writer, self._prepared.sources.all
        if not found or writer.is_empty or says_none(writer.text):  # S31, G18
            return "no_answer"
        return "fallback" if self._is_fallback else "answered"

    def _set_phase(self, phase: str, detail: str = "") -> None:
        if (phase, detail) != (self.phase, ""):
            with self._step():
                self.phase = phase
                self._emit(Frame(kind="status", data={"phase": phase, "detail": detail}))

    def _sources_block(self) -> str:
        """The sources known before the first round; later ones are in their tool messages."""
        sources = self._first_sources
        return render_sources(sources, boundary=self._boundary) if sources else ""

    def _take_tool_output(self, call: ToolCall, output: Any, message: str) -> str | None:
        """Number what a tool found and write its message anew (S42, S43, S45)."""
        if isinstance(output, SearchOutput):
            self._notes.update(dict.fromkeys(output.notes))
        sources = self._prepared.sources
        text = tool_message(output, message, sources=sources, boundary=self._boundary)
        if not self._round:
            self._first_sources = sources.all
        # Numbers count from here on: the model reads them in its next round.
        self._writer.know_sources(len(sources))
        return text

    async def _check_access(self) -> None:
        """Take back what was made private while the run went on."""
        sources, asker = self._prepared.sources.all, self._prepared.asker
        allowed = await search_burst(viewable, [source.key for source in sources], asker)
        gone = [source for source in sources if source.key not in allowed]
        if not gone:
            return
        numbers = {source.number for source in gone}
        self._first_sources = tuple(s for s in self._first_sources if s.number not in numbers)
        self._prepared.sources.withdraw(numbers)
        with self._step():
            self._shown.withdraw(gone, asker=asker)

    async def _compare(self) -> None:
        """Compare what was written with what it cites, as far as the agent asks for that."""
        with self._step():
            self._writer.close()
        self.is_written = True
        if self._judge() == "no_answer":
            return
        sources, writer = self._prepared.sources.all, self._writer
        cited = {index: sources[number - 1] for index, number in enumerate(writer.cited, start=1)}
        agent, asker = self._prepared.agent, self._prepared.asker
        self._review = await review(writer.text, cited=cited, agent=agent, asker=asker)
        with self._step():
            self._shown.quote(self._review.references)

    async def _show_sources(self) -> None:
        """Send the provisional references when sources were added (S60)."""
        sources = self._prepared.sources.all
        self._writer.know_sources(len(sources))
        new = self._shown.lacking(sources)
        if not new:
            return
        found = await render_shown(new, agent=self._prepared.agent, asker=self._prepared.asker)
        with self._step():
            self._shown.keep(new, found)
            data = {"turn": self.spec.position, "references": self._shown.as_dicts()}
            self._emit(Frame(kind="references", data=data))

    def _titles(self) -> Sequence[str]:
        return [source.title for source in self._prepared.sources.all] if self._prepared else []

    def _key_of(self, number: int) -> str:
        return str(self._prepared.sources.all[number - 1].key)
