import pytest

from ..api.conftest import Api
from ..content import make_agent, make_pages


@pytest.fixture
def visitor(transactional_db):
    make_pages()
    make_agent()
    return Api()
