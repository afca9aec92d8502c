"""Daily budgets: reserved in the database before a model is called, settled after.

A reservation assumes the worst case, so parallel questions cannot overspend together; the
difference is given back when the turn closes. A budget smaller than one worst case still admits
one question at a time.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from ..conf import BUDGETS, app_settings
from ..exceptions import BudgetExhausted
from ..models import Agent, BudgetDay
from ..tokens import CHARS_PER_TOKEN


def worst_case_tokens(agent: Agent) -> int:
    """Tokens one run of ``agent`` can use at most: every round with a full prompt and answer."""
    conf = app_settings()
    output = agent.max_output_tokens or conf.MAX_ANSWER_CHARS // CHARS_PER_TOKEN
    return conf.MAX_ROUNDS * (conf.PROMPT_TOKENS + output)


def reserve(agent: Agent, *, payer: str) -> dict[str, Any]:
    """Reserve one question for the site, ``agent`` and ``payer``; call inside a transaction.

    ``payer`` names the visitor (already hashed). Returns what ``settle`` needs. Raises
    ``BudgetExhausted`` when any of the three is spent; the transaction then rolls back the rest.
    """
    day = timezone.localdate()
    worst = worst_case_tokens(agent)
    reserved: dict[str, Any] = {"day": day.isoformat(), "tokens": {}}
    for kind, key in (
        ("site", "site"),
        ("agent", f"agent:{agent.slug}"),
        ("visitor", f"visitor:{payer}"),
    ):
        limits = _limits(kind)
        if not limits:
            continue
        tokens = worst if limits.get("tokens") is None else min(worst, limits["tokens"])
        _take(day, key, limits, tokens)
        reserved["tokens"][key] = tokens
    return reserved


def settle(reserved: Mapping[str, Any], *, used_tokens: int) -> None:
    """Replace what ``reserve`` took by the tokens really used."""
    if not reserved:
        return
    day = datetime.date.fromisoformat(reserved["day"])
    for key, tokens in reserved["tokens"].items():
        # Never below zero: a row may have been reset by hand in between.
        rows = BudgetDay.objects.filter(day=day, key=key)
        if used_tokens >= tokens:
            rows.update(tokens=F("tokens") + (used_tokens - tokens))
        else:
            back = tokens - used_tokens
            rows.update(tokens=Greatest(F("tokens"), back) - back)


def _limits(kind: str) -> Mapping[str, int | None]:
    # A site that sets one budget keeps the defaults of the others; ``None`` switches one off.
    given = app_settings().BUDGETS
    limits = given.get(kind, BUDGETS[kind])
    return {name: limit for name, limit in (limits or {}).items() if limit is not None}


def _take(day: datetime.date, key: str, limits: Mapping[str, int], tokens: int) -> None:
    open_rows = BudgetDay.objects.filter(day=day, key=key)
    if "questions" in limits:
        open_rows = open_rows.filter(questions__lt=limits["questions"])
    if "tokens" in limits:
        open_rows = open_rows.filter(tokens__lte=limits["tokens"] - tokens)
    taken = {"questions": F("questions") + 1, "tokens": F("tokens") + tokens}
    if open_rows.update(**taken):
        return
    # Nothing left, or no row yet; another process may just have made it.
    BudgetDay.objects.get_or_create(day=day, key=key)
    if not open_rows.update(**taken):
        raise BudgetExhausted(
            f"The daily budget of {key.split(':')[0]!r} is spent: {dict(limits)!r}.",
            retry_after=_seconds_left_today(),
        )


def _seconds_left_today() -> int:
    now = timezone.localtime()
    tomorrow = (now + datetime.timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return max(1, int((tomorrow - now).total_seconds()))
