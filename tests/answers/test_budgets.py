import threading
from contextlib import contextmanager

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import AnonymousUser
from django.db import connections, transaction
from django.utils import timezone

from ai_answers.agents.limits import prompt_bound
from ai_answers.answers.budgets import reserve, reserve_round, round_tokens, settle
from ai_answers.answers.conversations import Question, open_turn
from ai_answers.answers.turns import interrupt
from ai_answers.exceptions import BudgetBusy, BudgetExhausted, RunFailed
from ai_answers.models import BudgetDay, Run
from ai_answers.values import Asker

from .. import postgres
from ..content import make_agent
from ..routers import tables_in


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


@pytest.mark.django_db
def test_a_number_that_a_site_does_not_name_keeps_its_default(settings):
    """Left out is not switched off: that takes ``None``."""
    budget(settings, site={"questions": 7})
    limits = reserve(make_agent(), payer="a")["limits"]
    assert limits["site"] == {"questions": 7, "tokens": 5_000_000}
    assert limits["agent:depot"] == {"questions": 2000, "tokens": 5_000_000}
    assert limits["visitor:a"] == {"questions": 200, "tokens": 500_000}


@pytest.mark.django_db
def test_a_run_that_another_process_has_ended_reserves_nothing_more():
    """What it took would never be settled."""
    agent = make_agent()
    asker = Asker(user=AnonymousUser())
    spec = open_turn(Question(text="When?", agent="depot"), asker, visitor="a", payer="a")
    assert reserve_round(spec.run_id, agent)["tokens"] == 2 * round_tokens(agent)
    assert interrupt(Run.objects.get(pk=spec.run_id))
    with pytest.raises(RunFailed, match="ended by another process"):
        reserve_round(spec.run_id, agent)
    questions, tokens, reserved = spent()
    assert (questions, reserved) == (1, 0) and tokens > 0


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


@contextmanager
def budgets_on_postgresql():
    """Keep budgets where rows are locked one by one; SQLite lets one writer in at a time."""
    if reason := postgres.missing():
        pytest.skip(f"PostgreSQL test: {reason}")
    with tables_in("postgresql", "budgetday"):
        yield "postgresql" if "postgresql" in django_settings.DATABASES else "default"


def at_once(count, function):
    """Call ``function(number)`` on ``count`` threads that begin together; returns what each did."""
    start, done = threading.Barrier(count), [None] * count

    def work(number):
        try:
            start.wait()
            done[number] = function(number)
        except Exception as error:
            done[number] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


on_both = pytest.mark.django_db(transaction=True, databases=["default", "postgresql"])


@on_both
def test_the_first_questions_of_a_day_are_not_in_each_others_way():
    """All find no row yet; each then has to see what the others took, not only that they did."""
    agent = make_agent()
    with budgets_on_postgresql() as database:

        def ask(number):
            with transaction.atomic(using=database):
                return reserve(agent, payer=f"visitor {number}")["tokens"]

        assert at_once(12, ask) == [round_tokens(agent)] * 12
        assert spent() == (12, 0, 12 * round_tokens(agent))


@on_both
def test_opening_and_ending_turns_never_lock_each_other_out():
    """Both take the rows in one order: visitor, agent, site."""
    agent = make_agent()
    with budgets_on_postgresql() as database:

        def ask(number):
            for _ in range(40):
                with transaction.atomic(using=database):
                    reserved = reserve(agent, payer=f"visitor {number % 2}")
                with transaction.atomic(using=database):
                    settle(reserved, used_tokens=1)

        assert at_once(8, ask) == [None] * 8
        assert spent() == (320, 320, 0) == spent("agent:depot")


@pytest.mark.django_db
@pytest.mark.parametrize("use_tz", [True, False])
def test_a_day_is_the_sites_own_with_and_without_time_zones(settings, use_tz):
    settings.USE_TZ = use_tz
    budget(settings, site={"questions": 0})
    with pytest.raises(BudgetExhausted) as refused:
        reserve(make_agent(), payer="a")
    assert 0 < refused.value.retry_after <= 86_400
