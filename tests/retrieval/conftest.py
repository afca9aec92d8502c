import pytest
from django.conf import settings as django_settings

from ai_answers.retrieval.embeddings import resting

from .. import postgres
from ..routers import index_in
from .embedding import ConceptEmbedding, settings_with_embedding


@pytest.fixture
def embedding(settings):
    settings.AI_ANSWERS = settings_with_embedding()
    ConceptEmbedding.calls.clear()
    yield ConceptEmbedding
    ConceptEmbedding.is_down = False
    resting.forget()


@pytest.fixture
def on_postgresql(request):
    """Keep the index's tables in a PostgreSQL while the test runs.

    Mark the test with ``@pytest.mark.django_db(databases=["default", "postgresql"])``.
    """
    if reason := postgres.missing():
        pytest.skip(f"PostgreSQL test: {reason}")
    request.getfixturevalue("db")
    if "postgresql" not in django_settings.DATABASES:  # the whole suite runs on it
        yield "default"
        return
    with index_in("postgresql"):
        yield "postgresql"
