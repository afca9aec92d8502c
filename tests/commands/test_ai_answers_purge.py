import datetime
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from ai_answers.models import BudgetDay, Conversation, Run, RunLog, Turn

from ..content import make_agent


def purge(**options):
    out = StringIO()
    call_command("ai_answers_purge", stdout=out, **options)
    return out.getvalue()


@pytest.fixture
def conversations(db):
    """One whose last turn is 100 days old, and one that is old but was continued today."""
    agent, now = make_agent(), timezone.now()
    made = {}
    for name, last in (("old", 100), ("continued", 0)):
        conversation = Conversation.objects.create(agent=agent, expires_at=now)
        for position, age in ((1, 100), (2, last)):
            turn = Turn.objects.create(conversation=conversation, position=position, question="?")
            Turn.objects.filter(pk=turn.pk).update(created_at=now - datetime.timedelta(days=age))
        made[name] = conversation
    return made


def test_conversations_go_by_the_age_of_their_last_turn(conversations):
    BudgetDay.objects.create(day=timezone.localdate() - datetime.timedelta(days=60), key="site")
    assert "1 conversations" in purge(dry_run=True) and Conversation.objects.count() == 2
    assert "1 conversations" in purge()
    assert list(Conversation.objects.all()) == [conversations["continued"]]
    assert Turn.objects.count() == 2 and not BudgetDay.objects.exists()
    assert "0 conversations" in purge()


def test_days_override_the_setting_and_none_keeps_everything(conversations, settings):
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"RETENTION_DAYS": None}
    assert "kept" in purge() and Conversation.objects.count() == 2
    with pytest.raises(CommandError, match="0 or more"):
        purge(days=-1)
    purge(days=0)
    assert not Conversation.objects.exists()


def test_a_site_without_time_zones_is_purged_too(settings, db):
    settings.USE_TZ = False
    agent, now = make_agent(), timezone.now()
    conversation = Conversation.objects.create(agent=agent, expires_at=now)
    Conversation.objects.filter(pk=conversation.pk).update(
        created_at=now - datetime.timedelta(days=100)
    )
    for days in (60, 1):
        day = datetime.date.today() - datetime.timedelta(days=days)
        BudgetDay.objects.create(day=day, key="site")

    assert "1 conversations" in purge()

    assert not Conversation.objects.exists()
    assert BudgetDay.objects.count() == 1


@pytest.fixture
def left_running(db):
    """Runs whose process has not written for ten minutes, and one that is being answered."""
    agent, now = make_agent(), timezone.now()
    for age in [*[600] * 101, 0]:
        conversation = Conversation.objects.create(agent=agent, expires_at=now)
        turn = Turn.objects.create(conversation=conversation, position=1, question="?")
        heartbeat = now - datetime.timedelta(seconds=age)
        Run.objects.create(turn=turn, text="On Friday", heartbeat_at=heartbeat)


@pytest.mark.parametrize("days", [90, None])
def test_runs_of_processes_that_are_gone_are_ended_first(left_running, settings, days):
    """Design 1.4: a quiet site has no other process to notice."""
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"RETENTION_DAYS": days}
    assert "ended" not in purge(dry_run=True)
    assert not Run.objects.filter(status=Run.Status.ENDED).exists()

    assert purge().startswith("101 runs were ended whose process is gone.\n")

    assert Turn.objects.filter(outcome="interrupted", answer="On Friday").count() == 101
    assert Run.objects.filter(status=Run.Status.RUNNING).count() == 1
    assert "ended" not in purge()


def test_entries_of_the_run_log_go_by_their_own_age(conversations, settings):
    """T23: the conversation stays."""
    for age, turn in enumerate(Turn.objects.all()):
        run = Run.objects.create(turn=turn, visitor=f"v{age}", heartbeat_at=timezone.now())
        log = RunLog.objects.create(run=run, outcome="answered")
        written = timezone.now() - datetime.timedelta(days=20 * age)
        RunLog.objects.filter(pk=log.pk).update(created_at=written)
    assert "2 run log entries are older than 30 days" in purge(days=1000, dry_run=True)
    assert "2 run log entries older than 30 days were deleted" in purge(days=1000)
    assert RunLog.objects.count() == 2 and Turn.objects.count() == 4
    with pytest.raises(CommandError, match="--log-days must be 0 or more, not -1"):
        purge(log_days=-1)
    purge(days=1000, log_days=10)
    assert RunLog.objects.count() == 1
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"LOG_DAYS": None}
    assert "run log" not in purge(days=1000) and RunLog.objects.count() == 1
