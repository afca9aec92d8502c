"""The snippets of docs/chat-models.md, run as they stand."""

import re
from pathlib import Path

import pytest
from django.core.checks import run_checks

from ai_answers.chat_models import get_chat_model
from ai_answers.tools import get_tool, unregister_tool

PAGE = Path(__file__).parents[2] / "docs" / "chat-models.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
SETTINGS, FALLBACKS, TOOL, TEST_CASE = BLOCKS

# Its TestCase is collected with the tests of this module.
exec(TEST_CASE.replace("blog.", "tests.site.", 1).replace("blog.", "site."))


@pytest.mark.parametrize(("alias", "model"), [("default", "gpt-5-mini"), ("house", "qwen3-8b")])
def test_the_settings_build_models(alias, model, settings, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    namespace = {}
    exec(SETTINGS, namespace)
    settings.AI_ANSWERS = namespace["AI_ANSWERS"]

    assert get_chat_model(alias).model_name == model


def test_the_fallbacks_lead_somewhere(settings, db):  # Django 6.1 asks the database too
    namespace = {}
    exec(FALLBACKS.replace("…", "langchain_openai.ChatOpenAI"), namespace)
    settings.AI_ANSWERS = namespace["AI_ANSWERS"]

    assert [m.msg for m in run_checks(tags=["ai_answers"]) if "CHAT_MODELS" in m.msg] == []


def test_a_server_that_knows_max_tokens_only_gets_that(settings):
    options = {"model": "m", "base_url": "http://127.0.0.1:9/v1", "api_key": "k"}
    backend = "langchain_openai.chat_models.base.BaseChatOpenAI"
    settings.AI_ANSWERS = {"CHAT_MODELS": {"default": {"BACKEND": backend, "OPTIONS": options}}}
    model = get_chat_model(max_output_tokens=7)

    assert model._get_request_payload("Hi")["max_tokens"] == 7
    assert model.stream_usage is True


def test_the_tool_is_offered_under_its_name():
    try:
        exec(TOOL, {"__name__": "page"})
        assert get_tool("opening_hours").invoke({"day": "Sunday"}) == "Closed."
    finally:
        unregister_tool("opening_hours")
