"""Daily budgets: reserved in the database before a model is called, settled after.

What one model call can use at most is reserved when a turn opens and again before each further
round, so parallel questions cannot overspend together. Spent and reserved are kept apart: a
budget that is only reserved frees itself within seconds, one that is spent tomorrow. Where
nothing else is reserved, one run is admitted although less is left than it may use; so a budget
is overrun by less than one run.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from ..agents.limits import prompt_bound
from ..conf import BUDGETS, app_settings
from ..exceptions import BudgetBusy, BudgetExhausted, RunFailed
from ..models import Agent, BudgetDay, Run

OUTPUT_TOKENS = 4_000
"""Reserved for what one call may write where the agent sets no limit."""
BUSY_SECONDS = 5
"""When to try again where tokens are reserved, not spent."""
LOCKED = ("visitor", "agent", "site")
"""The order in which rows are written, always: no two transactions wait for each other, and the
row that all share is held for the shortest time."""


def round_tokens(agent: Agent) -> int:
    """Return the tokens one model call of ``agent`` is expected to use at most."""
    return prompt_bound() + (agent.max_output_tokens or OUTPUT_TOKENS)


def reserve(agent: Agent, *, payer: str) -> dict[str, Any]:
    """Reserve one question for the site, ``agent`` and ``payer``; call inside a transaction.

    ``payer`` names the visitor (already hashed). Returns what ``settle`` needs. Raises
    ``BudgetExhausted`` when any of the three has no room; the transaction then rolls back the
    rest.
    """
    day, tokens = today(), round_tokens(agent)
    keys = {"visitor": f"visitor:{payer}", "agent": f"agent:{agent.slug}", "site": "site"}
    kept = {keys[kind]: limits for kind in LOCKED if (limits := _limits(kind))}
    for key in _in_order(kept):
        _take(day, key, kept[key], tokens, questions=1)
    return {"day": day.isoformat(), "tokens": tokens, "limits": kept}


def reserve_round(run_id: Any, agent: Agent) -> dict[str, Any]:
    """Reserve a further round for a run; returns the new reservation.

    Raises ``BudgetExhausted`` and changes nothing when there is no room, ``RunFailed`` when the
    run was ended elsewhere: nobody would settle what it takes.
    """
    with transaction.atomic():
        running = Run.objects.select_for_update().filter(pk=run_id, status=Run.Status.RUNNING)
        reserved = running.values_list("reserved", flat=True).first()
        if reserved is None:
            raise RunFailed(f"The run {run_id} was ended by another process.")
        if not reserved.get("limits"):
            return reserved
        day, tokens = datetime.date.fromisoformat(reserved["day"]), round_tokens(agent)
        for key in _in_order(reserved["limits"]):
            limits = reserved["limits"][key]
            _take(day, key, limits, tokens, questions=0, held=reserved["tokens"])
        reserved["tokens"] += tokens
        Run.objects.filter(pk=run_id).update(reserved=reserved)
    return reserved


def settle(reserved: Mapping[str, Any], *, used_tokens: int) -> None:
    """Give back what was reserved and book what was used, on all rows or on none."""
    if not reserved:
        return
    day, held = datetime.date.fromisoformat(reserved["day"]), reserved["tokens"]
    with transaction.atomic():
        for key in _in_order(reserved["limits"]):
            BudgetDay.objects.filter(day=day, key=key).update(
                # Never below zero: a row may have been reset by hand in between.
                reserved=Greatest(F("reserved"), held) - held,
                tokens=F("tokens") + used_tokens,
            )


def _limits(kind: str) -> Mapping[str, int]:
    # What a site does not name keeps its default; ``None`` switches it off.
    given = app_settings().BUDGETS.get(kind, {})
    if given is None:
        return {}
    limits = {**BUDGETS[kind], **given}
    return {name: limit for name, limit in limits.items() if limit is not None}


def _in_order(keys: Iterable[str]) -> list[str]:
    # Not as they stand in the run's row: PostgreSQL keeps JSON in an order of its own.
    return sorted(keys, key=lambda key: LOCKED.index(key.partition(":")[0]))


def _take(
    day: datetime.date,
    key: str,
    limits: Mapping[str, int],
    tokens: int,
    *,
    questions: int,
    held: int = 0,
) -> None:
    """Reserve ``tokens`` on one row, in one statement; ``held`` is what this run has there."""
    row = BudgetDay.objects.filter(day=day, key=key)
    has_room = row
    if "questions" in limits:
        has_room = has_room.filter(questions__lte=limits["questions"] - questions)
    alone = has_room
    if "tokens" in limits:
        has_room = has_room.filter(tokens__lte=limits["tokens"] - tokens - F("reserved"))
        alone = alone.filter(tokens__lt=limits["tokens"], reserved=held)
    taken = {"questions": F("questions") + questions, "reserved": F("reserved") + tokens}
    if has_room.update(**taken):
        return
    # No room, or no row yet; another process may just have made it, so both are asked again.
    BudgetDay.objects.get_or_create(day=day, key=key)
    if has_room.update(**taken) or alone.update(**taken):
        return
    questions_used, tokens_used = row.values_list("questions", "tokens").get()
    is_spent = questions_used + questions > limits.get("questions", questions_used + questions)
    is_spent = is_spent or tokens_used >= limits.get("tokens", tokens_used + 1)
    kind = key.partition(":")[0]
    if is_spent:
        raise BudgetExhausted(
            f"The daily budget of the {kind} is spent: {dict(limits)!r}.",
            retry_after=_seconds_left_today(),
        )
    raise BudgetBusy(
        f"What is left of the daily budget of the {kind} is reserved by questions that are being "
        f"answered: {dict(limits)!r}.",
        retry_after=BUSY_SECONDS,
    )


def today() -> datetime.date:
    """Return the site's date, with ``USE_TZ`` and without."""
    return _now().date()


def _now() -> datetime.datetime:
    return timezone.localtime() if settings.USE_TZ else datetime.datetime.now()


def _seconds_left_today() -> int:
    now = _now()
    tomorrow = (now + datetime.timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return max(1, int((tomorrow - now).total_seconds()))
