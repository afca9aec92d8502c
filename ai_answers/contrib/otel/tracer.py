"""Spans of runs, by OpenTelemetry's conventions for generative AI.

In: what ``answers.tracing`` tells. Out: spans: ``invoke_agent`` with a ``chat`` for each model call
and an ``execute_tool`` for each tool call below it. Words of visitors, sources and models are on
them only with ``keep_text``; messages of exceptions never. Needs the API alone; where the spans go
is up to the provider. Test it with the SDK's ``InMemorySpanExporter``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from ... import __version__
from ...agents.search import SEARCH_TOOL_NAME
from ...answers.tracing import RunEnd, RunStart, RunTrace, Tracer
from ...events import (
    Event,
    PromptSent,
    RoundFinished,
    RoundStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from ...values import Usage
from . import attributes as names


class OpenTelemetryTracer(Tracer):
    """Hands spans to the global tracer provider.

    A run belongs to the trace of the request that began it, where the site traces requests.
    ``keep_text``: whether questions, prompts, sources, tool calls and answers go along.
    """

    def __init__(self, *, keep_text: bool = False) -> None:
        self._keep_text = keep_text
        self._tracer = trace.get_tracer("ai_answers", __version__)

    def start(self, run: RunStart) -> RunTrace:
        return SpanTrace(self._tracer, run, keep_text=self._keep_text)


class SpanTrace(RunTrace):
    """The spans of one run. ``parent``: ``None`` for what is current now."""

    def __init__(
        self,
        tracer: trace.Tracer,
        run: RunStart,
        *,
        keep_text: bool = False,
        parent: Context | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self._tracer = tracer
        self._run = run
        self._keep_text = keep_text
        self._span = tracer.start_span(
            f"invoke_agent {run.agent_name}",
            context=parent,
            attributes={**names.of_run(run, keep_text=keep_text), **(extra or {})},
        )
        self._context = trace.set_span_in_context(self._span, parent)
        self._used = Usage()
        self._round = 0
        self._call: _ModelCall | None = None
        self._tools: dict[str, tuple[Span, int]] = {}
        about = self._span.get_span_context()
        # The id of a trace that nobody keeps would lead nowhere.
        self.id = trace.format_trace_id(about.trace_id) if about.trace_flags.sampled else ""

    def active(self) -> AbstractContextManager[Any]:
        return trace.use_span(
            self._span, end_on_exit=False, record_exception=False, set_status_on_exception=False
        )

    def feed(self, event: Event) -> None:
        match event:
            case TextDelta():
                if self._call is not None:
                    self._call.write(event.text)
            case RoundStarted():
                self._round = event.number
            case PromptSent():
                self._begin_call(event)
            case RoundFinished():
                self._end_call(event.usage, event.finish_reason)
            case ToolStarted():
                self._begin_tool(event)
            case ToolFinished():
                self._end_tool(event)

    def end(self, end: RunEnd) -> None:
        failure = end.error_code if end.outcome in ("failed", "interrupted", "refused") else ""
        if self._call is not None:  # it was cut off; what it used is what no other has
            used = Usage(
                input_tokens=end.usage.input_tokens - self._used.input_tokens,
                output_tokens=end.usage.output_tokens - self._used.output_tokens,
            )
            # Not made current again: ``active`` has ended, and put back what was before it.
            self._call.end(used, "", failure=failure)
        for span, _began in self._tools.values():
            span.end()
        self._span.set_attribute(names.OUTCOME, end.outcome)
        if self._keep_text and end.text:
            said = names.text_message("assistant", end.text, finish_reason="stop")
            self._span.set_attribute(names.OUTPUT_MESSAGES, said)
        _end(self._span, failure)

    def _begin_call(self, event: PromptSent) -> None:
        attributes = {
            names.OPERATION: "chat",
            names.CONVERSATION: self._run.conversation,
            names.STREAM: True,
            names.ROUND: self._round,
            **names.of_request(self._run),
        }
        if self._keep_text:
            attributes[names.INPUT_MESSAGES] = names.prompt(event.messages)
        span = self._tracer.start_span(
            f"chat {self._run.model}",
            context=self._context,
            kind=SpanKind.CLIENT,
            attributes=attributes,
        )
        self._call = _ModelCall(span, self._context, keep_text=self._keep_text)

    def _end_call(self, usage: Usage, finish_reason: str) -> None:
        call, self._call = self._call, None
        if call is not None:
            self._used += usage
            call.leave()
            call.end(usage, finish_reason)

    def _begin_tool(self, event: ToolStarted) -> None:
        attributes = {
            names.OPERATION: "execute_tool",
            names.TOOL_NAME: event.name,
            names.TOOL_TYPE: "datastore" if event.name == SEARCH_TOOL_NAME else "function",
            names.TOOL_CALL_ID: event.call_id,
        }
        if self._keep_text:
            attributes[names.TOOL_ARGUMENTS] = names.as_json(event.arguments)
        began = time.time_ns()
        span = self._tracer.start_span(
            f"execute_tool {event.name}",
            context=self._context,
            attributes=attributes,
            start_time=began,
        )
        self._tools[event.call_id] = (span, began)

    def _end_tool(self, event: ToolFinished) -> None:
        span, began = self._tools.pop(event.call_id)
        if self._keep_text:
            span.set_attribute(names.TOOL_RESULT, event.message)
        # All tools of a round are heard of when the slowest has ended.
        _end(span, event.failure, at=began + int(event.seconds * 1e9))


class _ModelCall:
    """The span of one model call, current from when it is sent to its end.

    So the spans of an instrumented HTTP client stand below it. Both happen in the run's task.
    """

    def __init__(self, span: Span, parent: Context, *, keep_text: bool) -> None:
        self._span = span
        self._began = time.perf_counter()
        self._keep_text = keep_text
        self._text: list[str] = []
        self._has_content = False
        self._token = contexts.attach(trace.set_span_in_context(span, parent))

    def write(self, text: str) -> None:
        if not self._has_content:
            self._has_content = True
            self._span.set_attribute(names.FIRST_CHUNK, time.perf_counter() - self._began)
        if self._keep_text:
            self._text.append(text)

    def leave(self) -> None:
        """Let the run's span be the current one again."""
        contexts.detach(self._token)

    def end(self, usage: Usage, finish_reason: str, *, failure: str = "") -> None:
        self._span.set_attribute(names.INPUT_TOKENS, usage.input_tokens)
        self._span.set_attribute(names.OUTPUT_TOKENS, usage.output_tokens)
        if finish_reason:
            self._span.set_attribute(names.FINISH_REASONS, [finish_reason])
        if self._text:
            said = names.text_message("assistant", "".join(self._text), finish_reason=finish_reason)
            self._span.set_attribute(names.OUTPUT_MESSAGES, said)
        _end(self._span, failure)


def _end(span: Span, failure: str, *, at: int | None = None) -> None:
    """End ``span``; ``failure``: a code or the name of an exception's class, nobody's words."""
    if failure:
        span.set_attribute(names.ERROR_TYPE, failure)
        span.set_status(Status(StatusCode.ERROR, failure))
    span.end(end_time=at)
