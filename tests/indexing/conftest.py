import pytest

from tests.retrieval.embedding import ConceptEmbedding, settings_with_embedding


@pytest.fixture
def embedding(settings):
    settings.AI_ANSWERS = settings_with_embedding()
    ConceptEmbedding.calls.clear()
    yield ConceptEmbedding
    ConceptEmbedding.is_down = False
