"""Write one person's conversations as JSON, as somebody may ask of a site.

A signed-in person's by user name or id; an anonymous one's by the id of the conversation, which is
all that says whose it is.
"""

from __future__ import annotations

import json
import os
import uuid
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import translation

from ...answers.exporting import exported, votes_elsewhere
from ...models import Conversation
from ...values import Asker
from ..terminal import tables_needed


class Command(BaseCommand):
    help = "Writes one person's conversations, with answers and votes, as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        whose = parser.add_mutually_exclusive_group(required=True)
        whose.add_argument("--user", metavar="NAME", help="user name or id")
        whose.add_argument(
            "--conversation", metavar="ID", help="id of one conversation without an owner"
        )
        parser.add_argument(
            "--output", metavar="FILE", help="a new file, readable by its owner alone"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with tables_needed():
            if options["user"] is not None:
                found = _of_user(options["user"])
            else:
                found = _one(options["conversation"])
            if options["output"] is None:
                self.stdout.write(json.dumps(found, indent=1))  # ASCII only
                return
            _write(options["output"], found)
            self.stdout.write(f"{len(found['conversations'])} conversations were written.")


def _of_user(name: str) -> dict[str, Any]:
    user = _user(name)
    conversations = Conversation.objects.filter(owner=user)
    return {
        "user": user.get_username(),
        "conversations": list(exported(conversations, _asker(user))),
        "votes_elsewhere": votes_elsewhere(user),
    }


def _one(written: str) -> dict[str, Any]:
    try:
        conversations = Conversation.objects.filter(pk=uuid.UUID(written))
    except ValueError:
        raise CommandError(f"--conversation must be an id, not {written!r}.") from None
    conversation = conversations.first()
    if conversation is None:
        raise CommandError(f"There is no conversation {written!r}.")
    if conversation.owner is not None:
        raise CommandError("This conversation has an owner; export it with --user.")
    return {"conversations": list(exported(conversations, _asker(AnonymousUser())))}


def _asker(user: Any) -> Asker:
    return Asker(user=user, language=translation.get_language() or "")


def _user(name: str) -> Any:
    users = get_user_model()._default_manager
    for find in (users.get_by_natural_key, lambda pk: users.get(pk=pk)):
        try:
            return find(name)
        except (users.model.DoesNotExist, ValueError, ValidationError):
            continue
    raise CommandError(f"There is no user {name!r}; give a user name or an id.")


def _write(path: str, found: dict[str, Any]) -> None:
    """Write a file that nobody but its owner may read; never over another."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CommandError(f"{path!r} cannot be made: {error.strerror}.") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(found, file, ensure_ascii=False, indent=1)
