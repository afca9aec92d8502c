"""Langfuse: traces of runs, scored by the votes of visitors (S74, D37).

Name ``ai_answers.contrib.langfuse.LangfuseTracer`` in ``AI_ANSWERS["TRACER"]``; no app to install.
Needs ``pip install django-ai-answers[langfuse]``.
"""

from .tracer import LangfuseTracer

__all__ = ["LangfuseTracer"]
