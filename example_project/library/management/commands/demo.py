"""``manage.py demo``: from an empty checkout to a site that answers questions.

Migrates, loads the texts, indexes them, sets up the agent and its blocks, then serves. Every
step may be repeated; what is there already stays as it is or is brought up to date.
"""

from __future__ import annotations

import errno
import socket

from django.conf import settings
from django.core.management import BaseCommand, CommandError, call_command

from example_project.library.content import load
from example_project.library.demo import set_up_answers


class Command(BaseCommand):
    help = "Set up the example site with its content and answers, and serve it."

    def add_arguments(self, parser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="Address to serve on.")
        parser.add_argument("--port", type=int, default=8000, help="Port to serve on.")
        parser.add_argument("--no-serve", action="store_true", help="Stop before serving.")

    def handle(self, *, host: str, port: int, no_serve: bool, verbosity: int, **options) -> None:
        if not no_serve:
            check_address(host, port)
        if hasattr(self.stdout, "reconfigure"):
            # Line by line into a file or pipe too; what runserver says goes the same way.
            self.stdout.reconfigure(line_buffering=True)
        call_command("migrate", interactive=False, verbosity=0)
        self.step("Database is ready")

        loaded = load()
        self.step(
            f"{loaded.total} texts loaded: {loaded.created} new, {loaded.changed} changed, "
            f"{loaded.unchanged} as before"
        )

        call_command("ai_answers_index", verbosity=max(verbosity - 1, 0))
        self.step("Texts are indexed")

        agent = set_up_answers()
        self.step(f"Agent “{agent.name}” answers with the chat model “{chat_model_name()}”")

        if settings.DEBUG:
            self.step("Users: member/member, staff/staff, admin/admin")
        if no_serve:
            return
        self.stdout.write(
            f"\n  The library opens at http://{host}:{port}/en/  (Ctrl+C closes it)\n\n"
        )
        call_command("runserver", f"{host}:{port}", use_reloader=False, skip_checks=True)

    def step(self, text: str) -> None:
        self.stdout.write(f"  {self.style.SUCCESS('✓')} {text}")


def check_address(host: str, port: int) -> None:
    """Raise ``CommandError`` unless a server can listen there, before anything is set up."""
    try:
        listen(host, port)
    except (OSError, OverflowError) as error:
        if getattr(error, "errno", None) != errno.EADDRINUSE:
            reason = getattr(error, "strerror", None) or error
            raise CommandError(f"Cannot serve on {host}:{port}: {reason}.") from error
        raise CommandError(f"Port {port} is in use; try --port {port + 1}.") from error


def listen(host: str, port: int) -> None:
    with socket.socket() as server:  # IPv4, as runserver does without --ipv6
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((host, port))
        server.listen()


def chat_model_name() -> str:
    entry = settings.AI_ANSWERS["CHAT_MODELS"]["default"]
    return entry.get("OPTIONS", {}).get("model") or entry["BACKEND"].rpartition(".")[2]
