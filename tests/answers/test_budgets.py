import threading

import pytest
from django.db import connections, transaction
from django.utils import timezone

from ai_answers.answers.budgets import reserve, settle, worst_case_tokens
from ai_answers.exceptions import BudgetExhausted
from ai_answers.models import BudgetDay

from ..content import make_agent


def budget(settings, **budgets):
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"BUDGETS": budgets}


def spent(key="site"):
    return BudgetDay.objects.filter(key=key).values_list("questions", "tokens").first()


@pytest.mark.django_db
def test_the_worst_case_is_reserved_and_what_was_used_is_settled(settings):
    agent = make_agent(max_output_tokens=100)
    worst = worst_case_tokens(agent)
    reserved = reserve(agent, payer="someone")
    assert spent() == (1, worst) == spent("agent:depot")
    settle(reserved, used_tokens=42)
    assert spent() == (1, 42)
    settle(reserve(agent, payer="someone"), used_tokens=worst * 2)  # a model may overrun
    assert spent() == (2, 42 + worst * 2)


@pytest.mark.django_db
def test_a_budget_below_one_worst_case_admits_one_question_at_a_time(settings):
    budget(settings, site={"tokens": 1000})
    agent = make_agent()
    first = reserve(agent, payer="a")
    with pytest.raises(BudgetExhausted) as refused:
        reserve(agent, payer="b")
    assert 0 < refused.value.retry_after <= 86_400
    settle(first, used_tokens=0)
    reserve(agent, payer="b")


@pytest.mark.django_db
def test_a_limit_of_zero_admits_nothing_and_none_switches_off(settings):
    agent = make_agent()
    budget(settings, visitor={"questions": 0})
    with pytest.raises(BudgetExhausted, match="'visitor'"), transaction.atomic():
        reserve(agent, payer="a")
    assert spent() is None  # what was taken before is rolled back
    budget(settings, visitor=None, site=None, agent={"questions": None, "tokens": None})
    assert reserve(agent, payer="a")["tokens"] == {}
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
