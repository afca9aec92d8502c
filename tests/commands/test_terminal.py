"""The commands as a newcomer meets them: nothing migrated, no logging set up."""

import os
import subprocess
import sys

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

from ai_answers.management.terminal import tables_needed
from ai_answers.models import AgentTool
from tests.site.models import Article

NEWCOMER = """
import django
from django.conf import settings

django.setup()
from django.core.management import CommandError, call_command

def run(*arguments, **options):
    try:
        call_command(*arguments, **options)
    except CommandError as error:
        print("CommandError:", error, flush=True)
"""


def newcomer(script):
    """Run ``script`` in a process with a database of its own; return what both streams show."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-c", NEWCOMER + script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        check=False,
    )
    return done.stdout


def test_before_migrate_every_command_says_to_run_it():
    shown = newcomer(
        "for arguments in (['ai_answers_setup'], ['ai_answers_index'], ['ai_answers_ask', '?'],\n"
        "    ['ai_answers_ask', '?', '--user', 'u'], ['ai_answers_purge']):\n"
        "    run(*arguments)\n"
    )
    said = "CommandError: The tables are missing; run manage.py migrate."
    assert shown.splitlines() == [said] * 5


@pytest.mark.parametrize("more", ["", "traceback=True", "verbosity=2"])
def test_a_traceback_is_shown_only_to_whoever_asks_for_it(more):
    shown = newcomer(
        "from ai_answers.models import Agent\n"
        "from ai_answers.sources import PublicSource, get_source\n"
        "from tests.site.models import Article\n"
        "call_command('migrate', run_syncdb=True, verbosity=0)\n"
        "call_command('ai_answers_setup', access='public', verbosity=0)\n"
        "Article.objects.create(title='Depot', body='Open from nine.')\n"
        "def broken(obj, language):\n"
        "    raise ValueError('no text')\n"
        "Agent.objects.update(chat_model='scripted')\n"
        "from ai_answers.chat_models.scripted import fail, scripted\n"
        "print('BEGIN')\n"
        "with scripted(fail(RuntimeError('x'))):\n"
        f"    run('ai_answers_ask', 'When is the depot open?', {more})\n"
        "get_source('site.article').get_content = broken\n"
        "Article.objects.update(title='Depots')\n"
        f"run('ai_answers_index', {more})\n"
    )
    shown = shown.partition("BEGIN\n")[2]
    assert "CommandError: The run failed (model_failed): the chat model 'scripted' (" in shown
    assert "site.article 1: ValueError: no text" in shown
    assert "CommandError: 1 object could not be read" in shown
    assert ("Traceback" in shown and "File " in shown) is bool(more), shown


@pytest.mark.django_db(transaction=True)
def test_only_a_missing_table_is_taken_for_one():
    table = AgentTool._meta.db_table
    there, elsewhere = f"no such table: {table}", "database is locked"
    for message in (there, elsewhere):
        with pytest.raises(OperationalError), tables_needed():
            raise OperationalError(message)
    with connection.schema_editor() as editor:
        editor.alter_db_table(AgentTool, table, "moved_away")
    try:
        with pytest.raises(CommandError, match="tables are missing"), tables_needed():
            AgentTool.objects.count()
        with pytest.raises(OperationalError), tables_needed():
            raise OperationalError(elsewhere)
    finally:
        with connection.schema_editor() as editor:
            editor.alter_db_table(AgentTool, "moved_away", table)


@pytest.mark.django_db(transaction=True)
def test_a_missing_table_of_the_site_is_named():
    table = Article._meta.db_table
    with connection.schema_editor() as editor:
        editor.alter_db_table(Article, table, "moved_away")
    try:
        with pytest.raises(CommandError, match=f"The table '{table}' is missing"):
            call_command("ai_answers_index", verbosity=0)
    finally:
        with connection.schema_editor() as editor:
            editor.alter_db_table(Article, "moved_away", table)
