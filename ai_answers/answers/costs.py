"""What a turn has cost, where the site has set prices.

In: usage and the agent it was spent by. Out: an amount in the currency of ``PRICES``. No I/O.
"""

from __future__ import annotations

import logging
from decimal import Decimal, InvalidOperation

from ..chat_models.naming import model_name
from ..conf import app_settings
from ..models import Agent
from ..values import Usage

logger = logging.getLogger(__name__)

PRICED_TOKENS = 1_000_000
"""What a price of ``PRICES`` is for."""
SMALLEST = Decimal("0.00000001")
MOST = Decimal(10) ** 8
"""What the column holds."""


def cost_of(usage: Usage, agent: Agent) -> Decimal | None:
    """Return what ``usage`` costs with the model of ``agent``; ``None`` where it has no price.

    A wrong price is logged and costs no answer; the check ``ai_answers.E012`` reports it.
    """
    name = model_name(agent.chat_model, agent.model_name)
    try:
        prices = app_settings().PRICES.get(name)
        if prices is None:
            return None
        read, written = Decimal(str(prices["input"])), Decimal(str(prices["output"]))
        spent = read * usage.input_tokens + written * usage.output_tokens
        cost = (spent / PRICED_TOKENS).quantize(SMALLEST)
        if not 0 <= cost < MOST:
            raise ValueError
    except (AttributeError, TypeError, KeyError, ValueError, InvalidOperation):
        logger.error("AI_ANSWERS['PRICES'][%r] is no price: see the check E012.", name)
        return None
    return cost
