"""Indexing in the site's task backend: Django's own tasks (6.0), or ``django_tasks`` before.

Imported only where ``INDEXING_TASKS`` names a backend. A task carries names and ids, never texts,
and reads the objects when it runs; so it may run late, twice, or not at all before the next
``ai_answers_index``.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..conf import app_settings
from ..exceptions import ConfigurationError
from ..sources import get_source
from .running import index_objects

try:
    from django.tasks import task
except ImportError:
    try:
        from django_tasks import task
    except ImportError as error:
        raise ConfigurationError(
            "AI_ANSWERS['INDEXING_TASKS'] needs Django 6 or the package django-tasks."
        ) from error


@task()
def index_changed(entity_type: str, ids: list[str]) -> str:
    """Bring some objects in step, with their vectors; return what was done."""
    source = get_source(entity_type)
    return str(index_objects(source, ids)) if source is not None else "no such source"


def enqueue(entity_type: str, ids: Sequence[str]) -> None:
    """Hand objects to the backend that ``INDEXING_TASKS`` names."""
    backend = app_settings().INDEXING_TASKS
    index_changed.using(backend=backend).enqueue(entity_type, list(ids))
