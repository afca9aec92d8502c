"""Runs as traces in Langfuse, by OTLP; votes as scores, by its HTTP API.

In: what ``answers.tracing`` tells. Out: spans as ``contrib.otel`` makes them, and the score
``user_feedback`` on the trace of a turn that was voted on. Nothing waits for Langfuse.

Not by its SDK: importing that takes seconds, it makes itself the tracer provider of the whole
process and starts four threads, to send spans by OTLP and scores by one POST.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.context import Context

from ...answers.tracing import RunStart, RunTrace, Vote
from ...exceptions import ConfigurationError
from ..otel.tracer import OpenTelemetryTracer, SpanTrace
from .outbox import Outbox

SCORE = "user_feedback"
CLOUD = "https://cloud.langfuse.com"
INGESTION = {"x-langfuse-ingestion-version": "4"}
"""Asked of those who send spans themselves, or they show ten minutes late."""


class LangfuseTracer(OpenTelemetryTracer):
    """Sends traces and scores to the project that the two keys belong to.

    ``host``: scheme and host of the region, or of an instance of your own. ``environment``: what
    Langfuse calls so. ``export=False`` leaves spans to the site's own tracer provider, for sites
    whose collector passes them on to Langfuse; scores go there all the same. ``keep_text``: whether
    anybody's words go along, comments of votes among them.
    Raises ``ConfigurationError`` for a missing key or a host that is no address.
    """

    def __init__(
        self,
        *,
        public_key: str,
        secret_key: str,
        host: str = CLOUD,
        environment: str = "",
        export: bool = True,
        keep_text: bool = False,
        timeout_seconds: float = 5.0,
    ) -> None:
        super().__init__(keep_text=keep_text)
        for name, key in (("public_key", public_key), ("secret_key", secret_key)):
            if not key or not key.strip():
                raise ConfigurationError(f"The option {name!r} of LangfuseTracer is empty.")
        if urlsplit(host).scheme not in ("http", "https") or not urlsplit(host).netloc:
            raise ConfigurationError(
                f"The option 'host' of LangfuseTracer must be an http(s) address such as {CLOUD!r}."
            )
        api = f"{host.rstrip('/')}/api/public"
        login = base64.b64encode(f"{public_key}:{secret_key}".encode()).decode()
        headers = {"Authorization": f"Basic {login}"}
        self._environment = environment
        self._exports = export
        self._scores = Outbox(f"{api}/scores", headers=headers, timeout_seconds=timeout_seconds)
        if export:
            provider = _provider(f"{api}/otel/v1/traces", headers | INGESTION, timeout_seconds)
            self._tracer = provider.get_tracer("ai_answers")

    def start(self, run: RunStart) -> RunTrace:
        # A trace of its own: the site's request is traced elsewhere, if at all.
        parent = Context() if self._exports else None
        return SpanTrace(
            self._tracer,
            run,
            keep_text=self._keep_text,
            parent=parent,
            extra=self._extra(run),
        )

    def score(self, vote: Vote) -> None:
        body: dict[str, Any] = {
            "id": vote.id,
            "traceId": vote.trace_id,
            "name": SCORE,
            "value": 1 if vote.is_positive else 0,
            "dataType": "BOOLEAN",
            "timestamp": vote.given_at.isoformat(),
            "metadata": {"reasons": list(vote.reasons)},
        }
        if vote.comment and self._keep_text:
            body["comment"] = vote.comment
        if self._environment:
            body["environment"] = self._environment
        self._scores.put(body)

    def _extra(self, run: RunStart) -> Mapping[str, Any]:
        extra = {"langfuse.trace.name": run.agent_name, "session.id": run.conversation}
        if self._environment:
            extra["langfuse.environment"] = self._environment
        return extra


def _provider(endpoint: str, headers: Mapping[str, str], timeout_seconds: float) -> Any:
    """Return a provider beside the site's own, which sends batches from a thread of its own."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    exporter = OTLPSpanExporter(endpoint, headers=dict(headers), timeout=timeout_seconds)
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider
