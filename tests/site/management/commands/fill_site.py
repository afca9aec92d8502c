"""Set up the database of a server test: tables, pages, an agent."""

from django.core.management import call_command
from django.core.management.base import BaseCommand

from tests.content import make_agent, make_pages


class Command(BaseCommand):
    def handle(self, *args, **options):
        call_command("migrate", verbosity=0, run_syncdb=True)
        make_pages()
        make_agent(chat_model="default")
