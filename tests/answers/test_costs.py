"""What a turn has cost, with the prices of the model it was answered by."""

from decimal import Decimal

import pytest

from ai_answers.answers.costs import cost_of
from ai_answers.models import Agent
from ai_answers.values import Usage

USED = Usage(input_tokens=12_000, output_tokens=500)
PRICE = {"input": 0.4, "output": 1.6}
CHEAP = {"input": Decimal("0.1"), "output": 0}
OPENAI = {"BACKEND": "langchain_openai.ChatOpenAI", "OPTIONS": {"model": "big"}}


def priced(settings, prices):
    models = settings.AI_ANSWERS["CHAT_MODELS"] | {"remote": OPENAI}
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"CHAT_MODELS": models, "PRICES": prices}


@pytest.mark.parametrize(
    ("agent", "cost"),
    [
        (Agent(chat_model="remote"), "0.0056"),  # 12,000 × 0.4 + 500 × 1.6, by the million
        (Agent(chat_model="remote", model_name="small"), "0.0012"),
        (Agent(chat_model="scripted"), "0.0056"),  # names no model: goes by its alias
        (Agent(chat_model="remote", model_name="unheard-of"), None),
        (Agent(chat_model="gone"), None),
    ],
)
def test_the_model_in_force_sets_the_price(settings, agent, cost):
    priced(settings, {"big": PRICE, "small": CHEAP, "scripted": PRICE})
    assert cost_of(USED, agent) == (None if cost is None else Decimal(cost))


def test_without_prices_there_is_no_cost():
    assert cost_of(USED, Agent(chat_model="scripted")) is None


@pytest.mark.parametrize(
    "prices", [None, {"scripted": 3}, {"scripted": {"input": "much"}}, {"scripted": {"input": 1}},
               {"scripted": {"input": -1, "output": 0}},
               {"scripted": {"input": float("inf"), "output": 0}}],
)  # fmt: skip
def test_a_wrong_price_costs_no_answer(settings, prices):
    priced(settings, prices)
    assert cost_of(USED, Agent(chat_model="scripted")) is None
