"""Let a site's tracer hear of runs and votes; what happens to them there is its business.

In: how a run begins, the agent's events as they come, how it ended; votes. Out: the id of the
trace, which the turn keeps (D32). The setting ``TRACER`` names one; without it nothing is heard
and nothing imported. It hears all that is said; what of it may leave the site is for it to hold
back. A tracer that fails is logged, and left alone for the rest of the run: no answer and no vote
is lost for it (D38, D46). Test one by feeding it events.
"""

from __future__ import annotations

import datetime
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from django.utils.crypto import salted_hmac

from ..chat_models.naming import model_name, provider_name
from ..conf import app_settings, import_part
from ..events import Event
from ..exceptions import ConfigurationError, trace
from ..models import Agent
from ..values import Outcome, Usage
from .conversations import RunSpec

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStart:
    """What a run begins with."""

    agent: str
    """Slug."""
    agent_name: str
    conversation: str
    """The same for all turns of one conversation. Not its id, which opens it to whoever has it."""
    turn: int
    provider: str
    """``openai``, ``ollama`` …; the package of the chat model's class."""
    model: str
    temperature: float | None
    max_output_tokens: int | None
    language: str
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """How a run ended."""

    outcome: Outcome
    usage: Usage
    """Of all rounds, the one that was cut off included."""
    error_code: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One person's vote on a traced turn; a later one has the same ``id``."""

    id: str
    trace_id: str
    is_positive: bool
    reasons: Sequence[str]
    """Codes."""
    comment: str
    given_at: datetime.datetime


class RunTrace:
    """One run as a tracer hears it; this one hears nothing. All calls come from one task."""

    id = ""
    """The trace's, as whoever looks it up would write it; empty when there is none."""

    def active(self) -> AbstractContextManager[Any]:
        """Hold while the agent works: what else is traced then belongs to this run."""
        return nullcontext()

    def feed(self, event: Event) -> None:
        """Hear what has just happened; many times a second, so never wait."""

    def end(self, end: RunEnd) -> None:
        """Hear how it ended; once, the last call."""


class Tracer:
    """Makes traces and scores them. Subclass it, and name it in ``TRACER``."""

    def start(self, run: RunStart) -> RunTrace:
        """Return the trace of a run that begins now; on the loop thread, so never wait."""
        return RunTrace()

    def score(self, vote: Vote) -> None:
        """Take a vote on an earlier trace; in a request, so never wait."""


class _Careful(RunTrace):
    """A trace whose failures end the tracing and not the run."""

    def __init__(self, make: Callable[[], RunTrace]) -> None:
        self._inner: RunTrace | None = RunTrace()
        self._attempt(lambda: self._take(make()))

    @contextmanager
    def active(self) -> Iterator[None]:
        manager: AbstractContextManager[Any] = nullcontext()

        def enter() -> None:
            nonlocal manager
            entered = self._inner.active()
            entered.__enter__()
            manager = entered

        self._attempt(enter)
        try:
            yield
        finally:
            try:
                # Not told what went wrong: that may quote a visitor.
                manager.__exit__(None, None, None)
            except Exception as error:
                _failed(error)

    def feed(self, event: Event) -> None:
        self._attempt(lambda: self._inner.feed(event))

    def end(self, end: RunEnd) -> None:
        self._attempt(lambda: self._inner.end(end))
        self._inner = None

    def _take(self, inner: RunTrace) -> None:
        self._inner, self.id = inner, str(inner.id)

    def _attempt(self, call: Callable[[], None]) -> None:
        if self._inner is None:
            return
        try:
            call()
        except Exception as error:
            self._inner = None
            _failed(error)


def run_start(spec: RunSpec, agent: Agent, question: str) -> RunStart:
    """Return what a tracer is told when the run of ``spec`` begins."""
    conversation = salted_hmac("ai_answers.trace", str(spec.conversation_id), algorithm="sha256")
    return RunStart(
        agent=agent.slug,
        agent_name=agent.name,
        conversation=conversation.hexdigest()[:32],
        turn=spec.position,
        provider=provider_name(agent.chat_model),
        model=model_name(agent.chat_model, agent.model_name),
        temperature=agent.temperature,
        max_output_tokens=agent.max_output_tokens,
        language=spec.language,
        question=question,
    )


def start_trace(run: RunStart) -> RunTrace:
    """Return the trace of a run that begins now; nothing it does raises."""
    if not app_settings().TRACER:
        return RunTrace()
    return _Careful(lambda: _tracer().start(run))


def score(vote: Vote) -> None:
    """Hand a vote to the tracer."""
    try:
        _tracer().score(vote)
    except Exception as error:
        _failed(error)


def _failed(error: Exception) -> None:
    logger.error("The tracer failed: %s", trace(error))
    logger.debug("The tracer failed.", exc_info=error)


_lock = threading.Lock()
_tracers: dict[int, tuple[Mapping[str, Any], Tracer]] = {}
"""By process, with the setting it was built from: threads that send do not survive a fork."""


def prepare_tracer() -> None:
    """Build the tracer where it is not built yet; off the loop, since importing takes a while."""
    try:
        _tracer()
    except Exception as error:
        _failed(error)


def _tracer() -> Tracer:
    entry = app_settings().TRACER
    if not entry:
        return Tracer()
    with _lock:
        known, tracer = _tracers.get(os.getpid(), (None, None))
        if known != entry:
            tracer = _build(entry)
            _tracers[os.getpid()] = (entry, tracer)
        return tracer


def _build(entry: Any) -> Tracer:
    if not isinstance(entry, Mapping) or "BACKEND" not in entry:
        raise ConfigurationError(
            f"AI_ANSWERS['TRACER'] must be a dict with a 'BACKEND' (dotted path), not "
            f"{type(entry).__name__}."
        )
    backend = import_part(entry["BACKEND"], setting="AI_ANSWERS['TRACER']")
    return backend(**(entry.get("OPTIONS") or {}))
