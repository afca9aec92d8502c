"""Closing a turn: text, references, usage and the run's last frame in one transaction."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db import DatabaseError, transaction
from django.utils import timezone

from ..conf import app_settings
from ..exceptions import trace
from ..models import Conversation, Run, RunLog, Turn
from ..signals import answer_finished
from ..tokens import count_tokens
from ..values import Frame, Outcome, Usage
from . import budgets
from .costs import cost_of
from .queueing import turn_transaction

logger = logging.getLogger(__name__)

STALE_SECONDS = 30
"""A running row whose process has not written for this long is taken for dead. The writer
writes every five seconds."""

SKIPPED_IDS = 1000
"""A dead process may have sent frames since its last write; the last frame's id must be above
any of them, or a reader that saw them would be told that it has seen everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """What a run ended with."""

    outcome: Outcome
    text: str = ""
    parts: tuple[str, ...] = ()
    references: tuple[dict[str, Any], ...] = ()
    sources: tuple[dict[str, Any], ...] = ()
    usage: Usage = field(default_factory=Usage)
    invalid_citations: int = 0
    support: Mapping[str, Any] = field(default_factory=dict)
    """How far its sources bear the answer; see ``Review.support``."""
    notes: tuple[str, ...] = ()
    """What went other than set up on the way; see ``SearchOutput.notes``."""
    error_code: str = ""
    error: str = ""
    """Type and place of what ended it, for the run log; nobody's words."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """Fields of its log entry; see ``recording``."""
    trace_id: str = ""
    """Of the tracer that is set up; empty when there is none."""
    retryable: bool = True
    """Whether asking the same again may help, where there is an error."""


def close_turn(run_id: Any, closing: Closing, *, frame: Frame, sequence: int) -> Turn | None:
    """Save how the run ended; returns its turn, or ``None`` when it was closed or gone before.

    ``sequence``: id of ``frame``, the run's last. Only one closer wins: a sweep, a stop and the
    run itself may meet here.
    """
    with turn_transaction():
        won = Run.objects.filter(pk=run_id, status=Run.Status.RUNNING).update(
            status=Run.Status.ENDED,
            phase="",
            sequence=sequence,
            text=closing.text,
            parts=list(closing.parts),
            references=list(closing.references),
            last_frame={"kind": frame.kind, "data": dict(frame.data)},
            error_code=closing.error_code,
            notes=list(closing.notes),
            finished_at=timezone.now(),
        )
        if not won:
            return None
        run = Run.objects.select_related("turn__conversation__agent").get(pk=run_id)
        turn = run.turn
        turn.answer = closing.text
        turn.outcome = closing.outcome
        turn.references = list(closing.references)
        turn.sources = list(closing.sources)
        turn.usage = closing.usage.as_dict()
        turn.cost = cost_of(closing.usage, turn.conversation.agent)
        turn.invalid_citations = closing.invalid_citations
        turn.support = dict(closing.support)
        turn.log_id = _log(run, closing)
        turn.trace_id = closing.trace_id[:100] or None
        turn.finished_at = run.finished_at
        turn.save()
        conversation = turn.conversation
        lifetime = datetime.timedelta(seconds=conversation.agent.conversation_ttl)
        conversation.expires_at = run.finished_at + lifetime
        conversation.save(update_fields=["expires_at"])
        budgets.settle(run.reserved, used_tokens=closing.usage.total_tokens)
    return turn


def _log(run: Run, closing: Closing) -> str | None:
    """Write the run's log entry and return its id; an answer is never lost for it (D46)."""
    fields = {
        "input_tokens": closing.usage.input_tokens,
        "output_tokens": closing.usage.output_tokens,
        **closing.record,
    }
    try:
        with transaction.atomic():
            entry = RunLog.objects.create(
                run=run,
                outcome=closing.outcome,
                error_code=closing.error_code,
                error=closing.error,
                **fields,
            )
    except (DatabaseError, ValueError, TypeError) as error:
        logger.error("Run %s could not be logged: %s", run.pk, trace(error))
        return None
    return str(entry.pk)


def announce(turn: Turn, closing: Closing, *, run_id: Any, seconds: float) -> None:
    """Send ``answer_finished``; after the commit, and where a site's code may take its time."""
    answer_finished.send_robust(
        sender=Conversation, turn=turn, run_id=str(run_id), usage=closing.usage, seconds=seconds
    )


def interrupt(run: Run) -> bool:
    """Close a run whose process is gone, with what it had written."""
    used = Usage(
        # What the dead process sent to the model is unknown; one full prompt is assumed.
        input_tokens=app_settings().PROMPT_TOKENS,
        output_tokens=count_tokens(run.text),
    )
    cited = tuple(reference for reference in run.references if "index" in reference)
    closing = Closing(
        outcome="interrupted",
        text=run.text,
        parts=tuple(run.parts),
        references=cited,
        usage=used,
        error_code="interrupted",
    )
    frame = Frame(
        kind="error",
        data={"code": "interrupted", "retryable": True, "outcome": "interrupted"},
    )
    turn = close_turn(run.pk, closing, frame=frame, sequence=run.sequence + SKIPPED_IDS)
    if turn is None:
        return False
    logger.warning("Run %s was interrupted: its process no longer writes.", run.pk)
    seconds = (run.heartbeat_at - run.created_at).total_seconds()
    transaction.on_commit(partial(announce, turn, closing, run_id=run.pk, seconds=seconds))
    return True


def interrupt_if_stale(run: Run) -> bool:
    """Interrupt ``run`` if its process has stopped writing; returns whether it has ended."""
    if run.heartbeat_at > stale_before():
        return False
    interrupt(run)
    return True


def stale_before() -> datetime.datetime:
    """Return the time before which a heartbeat is too old."""
    return timezone.now() - datetime.timedelta(seconds=STALE_SECONDS)


def interrupt_stale_runs(conversation_id: Any) -> None:
    """Interrupt what a dead process has left running in one conversation."""
    running = Run.objects.filter(
        turn__conversation_id=conversation_id, status=Run.Status.RUNNING
    ).select_related("turn")
    for run in running:
        interrupt_if_stale(run)


def sweep() -> int:
    """Interrupt every stale run; returns how many."""
    stale = Run.objects.filter(status=Run.Status.RUNNING, heartbeat_at__lte=stale_before())
    return sum(interrupt(run) for run in stale[:100])


def earlier_turns(turn: Turn, *, limit: int) -> list[Turn]:
    """Return the conversation's ended turns before ``turn``, oldest first (D9; 0: all)."""
    turns = (
        Turn.objects.filter(conversation_id=turn.conversation_id, position__lt=turn.position)
        .exclude(outcome="")
        .order_by("-position")
        .only("position", "conversation", "question", "answer", "outcome")
    )
    return list(reversed(turns[:limit] if limit else turns))
