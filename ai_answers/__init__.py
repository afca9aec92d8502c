"""Answers visitors' questions from a site's own content, streamed and with citations.

What a site uses: ``ai_answers.sources`` (register what may be cited), ``ai_answers.signals``,
the tags of ``{% load ai_answers %}``, the URLs of ``ai_answers.urls`` and the commands
``ai_answers_index`` and ``ai_answers_ask``.

How an answer is made::

    POST question ─ permission, CSRF, throttle, validation                        api
      │ gates, conversation, budget: a turn is opened                             answers
      ▼
    run, a task on the loop thread of the process                                 runs
      │ first turn: one forced search                                             agents
      │ round 1…n: system prompt → chat model → tool calls → tools                agents
      │ hits and rows → numbered sources, tool message rewritten                  answers
      │ markers → citations, numbered at first use                                answers.citations
      │ text → parts of safe HTML                                                 rendering
      │ turn closed: text, references, usage in one transaction                   answers
      ▼
    event log → frames → the page                                                 runs, api

Imports point one way; ``pyproject.toml`` holds the order and ``lint-imports`` checks it.
"""

__version__ = "0.1.0"
