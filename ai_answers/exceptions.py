"""Everything this app raises on purpose.

AnswersError
├── ConfigurationError        a setting, alias or dotted path is wrong (also ImproperlyConfigured)
├── InvalidQuestion           400: the body cannot be asked
│   └── BodyTooLarge          413
├── NotPermitted              403: the asker may not use this agent
├── NotFound                  404: unknown, expired or someone else's; never says which
├── AgentNotUsable            409: switched off, or without a search tool and index
├── TurnInProgress            409: the conversation's last turn is still being answered
├── BudgetExhausted           429: a daily budget is spent
│   └── BudgetBusy            429: what is left of it is reserved; free again in seconds
├── RetrievalError            an index cannot do what was asked of it
│   └── EmbeddingFailed       the embedding service failed or changed its dimension
├── RunFailed                 a run ended without an answer; carries a public code
│   ├── ModelFailed           the chat model refused, failed or sent nonsense
│   └── ModelTimeout          no content in time, or the run's own time is up
"""

from __future__ import annotations

import traceback

from django.core.exceptions import ImproperlyConfigured


class AnswersError(Exception):
    """Root of all errors of this app.

    ``code`` is stable and may be shown to anyone; the message is for developers and logs.
    """

    code = "error"
    status = 500
    retryable = False


def trace(error: BaseException) -> str:
    """Return type and traceback of ``error`` without messages, fit for any log.

    Messages of exceptions quote what they choke on: a visitor's words, a provider's answer, a key.
    """
    frames = "".join(traceback.format_tb(error.__traceback__))
    return f"{type(error).__module__}.{type(error).__qualname__}\n{frames}".rstrip()


class ConfigurationError(AnswersError, ImproperlyConfigured):
    code = "not_configured"


class InvalidQuestion(AnswersError):
    code = "invalid"
    status = 400


class BodyTooLarge(InvalidQuestion):
    code = "too_large"
    status = 413


class NotPermitted(AnswersError):
    code = "permission_denied"
    status = 403


class NotFound(AnswersError):
    code = "not_found"
    status = 404


class AgentNotUsable(AnswersError):
    code = "agent_not_usable"
    status = 409


class TurnInProgress(AnswersError):
    code = "turn_in_progress"
    status = 409
    retryable = True


class BudgetExhausted(AnswersError):
    """A daily budget is spent. ``retry_after``: seconds until it starts anew."""

    code = "budget_exhausted"
    status = 429
    retryable = True

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class BudgetBusy(BudgetExhausted):
    code = "busy"


class RetrievalError(AnswersError):
    code = "search_failed"
    retryable = True


class EmbeddingFailed(RetrievalError):
    code = "embedding_failed"


class RunFailed(AnswersError):
    """A run ended without an answer. ``code`` picks the text a visitor sees."""

    code = "run_failed"
    retryable = True


class ModelFailed(RunFailed):
    code = "model_failed"
    retry_after: float | None = None
    """Seconds after which the server wants to be asked again, where it said so."""


class ModelTimeout(RunFailed):
    code = "model_timeout"
