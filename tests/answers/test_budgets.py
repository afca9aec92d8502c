import threading

import pytest
from django.db import connections, transaction
from django.utils import timezone

from ai_answers.agents.limits import prompt_bound
from ai_answers.answers.budgets import reserve, round_tokens, settle
from ai_answers.exceptions import BudgetBusy, BudgetExhausted
from ai_answers.models import BudgetDay

from ..content import make_agent


def budget(settings, **budgets):
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"BUDGETS": budgets}


def spent(key="site"):
    rows = BudgetDay.objects.filter(key=key)
    return rows.values_list("questions", "tokens", "reserved").first()


@pytest.mark.django_db
def test_a_round_is_reserved_and_what_was_used_is_settled():
    agent = make_agent(max_output_tokens=100)
    tokens = round_tokens(agent)
    assert tokens == prompt_bound() + 100
    reserved = reserve(agent, payer="someone")
    assert spent() == (1, 0, tokens) == spent("agent:depot")
    settle(reserved, used_tokens=42)
    assert spent() == (1, 42, 0)
    settle(reserve(agent, payer="someone"), used_tokens=tokens * 2)  # a model may overrun
    assert spent() == (2, 42 + tokens * 2, 0)


@pytest.mark.django_db
def test_what_is_only_reserved_is_free_again_soon_and_says_so(settings):
    budget(settings, site={"tokens": 60_000})
    agent = make_agent()
    first, _second = reserve(agent, payer="a"), reserve(agent, payer="b")
    with pytest.raises(BudgetBusy) as refused:
        reserve(agent, payer="c")
    assert refused.value.code == "busy" and refused.value.retry_after < 60
    settle(first, used_tokens=500)
    third = reserve(agent, payer="c")
    settle(third, used_tokens=60_000)
    with pytest.raises(BudgetExhausted) as refused:
        reserve(agent, payer="d")
    assert refused.value.code == "budget_exhausted" and refused.value.retry_after <= 86_400


@pytest.mark.django_db
def test_a_budget_below_one_round_admits_one_question_at_a_time(settings):
    budget(settings, site={"tokens": 1000})
    agent = make_agent()
    first = reserve(agent, payer="a")
    with pytest.raises(BudgetBusy):
        reserve(agent, payer="b")
    settle(first, used_tokens=500)
    settle(reserve(agent, payer="b"), used_tokens=500)
    with pytest.raises(BudgetExhausted, match="is spent"):
        reserve(agent, payer="c")


@pytest.mark.django_db
def test_the_default_budgets_let_many_visitors_ask_at_once():
    agent = make_agent()
    for number in range(100):
        reserve(agent, payer=f"visitor {number}")
    for _ in range(15):
        reserve(agent, payer="one address")


@pytest.mark.django_db
def test_a_limit_of_zero_admits_nothing_and_none_switches_off(settings):
    agent = make_agent()
    budget(settings, visitor={"questions": 0})
    with pytest.raises(BudgetExhausted, match="visitor"), transaction.atomic():
        reserve(agent, payer="a")
    assert spent() is None  # what was taken before is rolled back
    budget(settings, visitor=None, site=None, agent={"questions": None, "tokens": None})
    assert reserve(agent, payer="a")["limits"] == {}
    assert not BudgetDay.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_parallel_questions_never_overspend(settings):
    budget(settings, site={"questions": 10}, agent=None, visitor=None)
    agent, outcomes = make_agent(), []

    def ask():
        try:
            for _ in range(5):
                try:
                    with transaction.atomic():
                        reserve(agent, payer="x")
                    outcomes.append("taken")
                except BudgetExhausted:
                    outcomes.append("refused")
        finally:
            connections.close_all()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("taken") == 10 and outcomes.count("refused") == 30
    assert BudgetDay.objects.get(day=timezone.localdate(), key="site").questions == 10


@pytest.mark.django_db
@pytest.mark.parametrize("use_tz", [True, False])
def test_a_day_is_the_sites_own_with_and_without_time_zones(settings, use_tz):
    settings.USE_TZ = use_tz
    budget(settings, site={"questions": 0})
    with pytest.raises(BudgetExhausted) as refused:
        reserve(make_agent(), payer="a")
    assert 0 < refused.value.retry_after <= 86_400
