"""OpenTelemetry: a span for each run, model call and tool call, by the GenAI conventions.

Name ``ai_answers.contrib.otel.OpenTelemetryTracer`` in ``AI_ANSWERS["TRACER"]``; no app to install.
Needs ``pip install django-ai-answers[otel]``, and a tracer provider that the site sets up.
"""

from .tracer import OpenTelemetryTracer

__all__ = ["OpenTelemetryTracer"]
