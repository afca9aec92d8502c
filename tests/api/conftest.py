import json
import threading

import pytest
from django.db import connections
from django.test import Client

from ..content import make_agent, make_pages


@pytest.fixture
def agent(transactional_db):
    make_pages()
    return make_agent()


def elsewhere(function, **arguments):
    """Run ``function`` on a thread of its own, as another request would be."""

    def work():
        try:
            function(**arguments)
        finally:
            connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


class Api:
    """A browser at the API: one visitor, with or without a CSRF token."""

    def __init__(self, user=None, *, csrf=True):
        self.client = Client(enforce_csrf_checks=True)
        if user is not None:
            self.client.force_login(user)
        self.token = self.client.get("/ai-answers/session").json()["csrf_token"] if csrf else ""

    def post(self, path, body=None, *, stream=False, raw=None, **headers):
        headers.setdefault("HTTP_X_CSRFTOKEN", self.token)
        headers.setdefault("HTTP_ACCEPT", "text/event-stream" if stream else "application/json")
        headers.setdefault("content_type", "application/json")
        data = raw if raw is not None else json.dumps(body)
        return self.client.post(f"/ai-answers/{path}", data, **headers)

    def ask(self, question="When do parcels leave?", **fields):
        stream = fields.pop("stream", False)
        body = {"agent": "depot", "question": question, **fields}
        return self.post("question", body, stream=stream)

    def get(self, path, **headers):
        return self.client.get(f"/ai-answers/{path}", **headers)

    def delete(self, path):
        return self.client.delete(f"/ai-answers/{path}", HTTP_X_CSRFTOKEN=self.token)


@pytest.fixture
def visitor(agent):
    return Api()


@pytest.fixture
def api():
    return Api
