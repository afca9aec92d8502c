"""Where a site may listen and alter.

``PrioritySignal`` calls its receivers strictly one after another, higher priority first, then
in order of connection; ``asend`` keeps that order although some receivers are sync.
(``django.dispatch.Signal.asend`` runs the sync ones apart from the async ones.)

Receivers are called with ``sender`` and the keyword arguments named below.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import weakref
from collections.abc import Callable
from typing import Any

from django.dispatch import Signal

from .bursts import ShuttingDown, contained, receiver_burst
from .conf import app_settings
from .exceptions import trace

logger = logging.getLogger(__name__)

Receiver = Callable[..., Any]


class PrioritySignal:
    """A signal whose receivers run in a fixed order and may alter what is sent.

    ``robust``: a receiver that raises is logged and the others go on; otherwise the error
    goes to the sender.
    """

    def __init__(self, *, robust: bool = False) -> None:
        self.robust = robust
        self._receivers: list[tuple[int, int, Any]] = []
        self._count = 0
        self._lock = threading.Lock()

    def connect(self, receiver: Receiver, *, priority: int = 0) -> Receiver:
        """Add ``receiver``, held weakly; returns it, so it can decorate. Twice counts once."""
        if not callable(receiver):
            raise TypeError(f"A receiver must be callable, not {receiver!r}.")
        bound = hasattr(receiver, "__self__") and hasattr(receiver, "__func__")
        reference = weakref.WeakMethod(receiver) if bound else weakref.ref(receiver)
        with self._lock:
            kept = [r for r in self._receivers if r[2]() not in (None, receiver)]
            self._count += 1
            kept.append((-priority, self._count, reference))
            self._receivers = sorted(kept, key=lambda r: r[:2])
        return receiver

    def disconnect(self, receiver: Receiver) -> bool:
        """Take ``receiver`` out; returns whether it was connected."""
        with self._lock:
            kept = [r for r in self._receivers if r[2]() not in (None, receiver)]
            found = any(r[2]() == receiver for r in self._receivers)
            self._receivers = kept
        return found

    def send(self, sender: Any, **named: Any) -> list[tuple[Receiver, Any]]:
        """Call every receiver in order; async ones are not possible here (``TypeError``)."""
        responses = []
        for receiver in self._live():
            if inspect.iscoroutinefunction(receiver):
                raise TypeError(f"{receiver!r} is async; this signal was sent synchronously.")
            try:
                responses.append((receiver, receiver(sender=sender, **named)))
            except Exception as error:
                responses.append((receiver, self._failed(receiver, error)))
        return responses

    async def asend(self, sender: Any, **named: Any) -> list[tuple[Receiver, Any]]:
        """Call every receiver in order, sync ones as bursts unless marked ``light``.

        Each has ``TOOL_SECONDS``; after that it counts as one that raised ``TimeoutError``.
        """
        responses = []
        for receiver in self._live():
            try:
                response = await _call_in_time(receiver, {"sender": sender, **named})
                responses.append((receiver, response))
            except ShuttingDown:
                raise
            except Exception as error:
                responses.append((receiver, self._failed(receiver, error)))
        return responses

    def _live(self) -> list[Receiver]:
        return [r for _, _, ref in self._receivers if (r := ref()) is not None]

    def _failed(self, receiver: Receiver, error: Exception) -> Exception:
        if not self.robust:
            raise error
        logger.error("Receiver %s of a signal failed: %s", _name(receiver), trace(error))
        logger.debug("Receiver %s of a signal failed.", _name(receiver), exc_info=error)
        return error


async def _call_in_time(receiver: Receiver, named: dict[str, Any]) -> Any:
    try:
        async with asyncio.timeout(app_settings().TOOL_SECONDS) as limit:
            if inspect.iscoroutinefunction(receiver):
                return await contained(receiver(**named))
            if getattr(receiver, "light", False):
                return await contained(_call_at_once(receiver, named))
            return await receiver_burst(receiver, **named)
    except TimeoutError:
        if not limit.expired():
            raise
        raise TimeoutError(f"Receiver {_name(receiver)} took longer than TOOL_SECONDS.") from None


async def _call_at_once(receiver: Receiver, named: dict[str, Any]) -> Any:
    return receiver(**named)


def _name(receiver: Receiver) -> str:
    # Not its repr: that of a bound method shows its object, whatever that holds.
    return f"{receiver.__module__}.{getattr(receiver, '__qualname__', type(receiver).__name__)}"


def light(receiver: Receiver) -> Receiver:
    """Mark a sync receiver that neither blocks nor touches the database: no thread is used."""
    receiver.light = True  # type: ignore[attr-defined]
    return receiver


agent_started = PrioritySignal(robust=True)
"""A run begins. Arguments: ``agent`` (the sender), ``run_id`` (str), ``asker`` (Asker)."""

pre_system_prompt = PrioritySignal()
"""Before each model call. Sender: the agent. Arguments: ``run_id``, ``round`` (int, from 1),
``prompt`` (``agents.prompts.SystemPrompt``: ``append(text)`` or ``replace(text)``).
Priorities: the answers part is at 10, editorial context at 0. An error fails the run."""

tool_pre_execute = PrioritySignal()
"""Before a tool runs. Sender: the agent. Arguments: ``run_id``, ``call``
(``agents.tools.ToolCall``; its ``arguments`` may be changed). An error becomes the tool's
error message."""

tool_finished = PrioritySignal()
"""After the tools of a round, in call order. Sender: the agent. Arguments: ``run_id``,
``call``, ``output`` (the tool's structured output or ``None``), ``message``
(``agents.tools.ToolMessageText``; its ``text`` may be replaced). An error fails the run."""

agent_finished = PrioritySignal(robust=True)
"""A run ended. Sender: the agent. Arguments: ``run_id``, ``usage`` (Usage), ``outcome``."""

answer_finished = Signal()
"""Sent once per run after its turn is committed, with ``send_robust``. Sender: ``Conversation``.
Arguments: ``turn`` (saved), ``run_id`` (str), ``usage`` (Usage), ``seconds`` (float)."""

feedback_given = Signal()
"""Sent after feedback is committed, with ``send_robust``. Sender: ``Feedback``.
Arguments: ``feedback`` (saved)."""

content_indexed = Signal()
"""Sent after a source was indexed, with ``send_robust``. Sender: the source's class.
Arguments: ``index`` (alias), ``report`` (``indexing.Report``)."""
