"""From aliases in the settings to shared chat models."""

import asyncio
import subprocess
import sys

import pytest
from pydantic import SecretStr

from ai_answers.chat_models import aget_chat_model, get_chat_model
from ai_answers.chat_models.extractive import ExtractiveChatModel
from ai_answers.chat_models.scripted import ScriptedChatModel
from ai_answers.exceptions import ConfigurationError

OPENAI = {
    "BACKEND": "langchain_openai.ChatOpenAI",
    "OPTIONS": {"model": "small", "base_url": "http://127.0.0.1:9/v1", "api_key": "k"},
}


def plain_factory(model: str = "x"):
    """A factory of a site: any callable that gives a chat model."""
    return ScriptedChatModel(model=model)


def not_a_model():
    return object()


@pytest.fixture
def models(settings):
    def set_models(**aliases):
        settings.AI_ANSWERS = {**settings.AI_ANSWERS, "CHAT_MODELS": aliases}

    return set_models


def test_with_nothing_configured_answers_are_quotations(settings):
    settings.AI_ANSWERS = {}
    assert isinstance(get_chat_model(), ExtractiveChatModel)


def test_a_model_is_shared_per_alias_and_overrides():
    """One client, whoever asks: a client of its own per run multiplies the time to a token."""
    assert get_chat_model("scripted") is get_chat_model("scripted")
    warm = get_chat_model("scripted", temperature=0.9)
    assert warm is get_chat_model("scripted", temperature=0.9)
    assert warm is not get_chat_model("scripted")
    assert asyncio.run(aget_chat_model("scripted", temperature=0.9)) is warm


def test_a_temperature_of_zero_is_an_override():
    assert get_chat_model("scripted", temperature=0.0).temperature == 0.0
    assert get_chat_model("scripted").temperature is None


def test_changed_settings_build_a_new_model(models):
    models(default={**OPENAI, "OPTIONS": {**OPENAI["OPTIONS"], "model": "a"}})
    before = get_chat_model()
    models(default={**OPENAI, "OPTIONS": {**OPENAI["OPTIONS"], "model": "b"}})

    assert before.model_name == "a"
    assert get_chat_model().model_name == "b"


def test_overrides_reach_the_vendors_own_names(models):
    """D3."""
    models(default=OPENAI)
    model = get_chat_model(model_name="large", temperature=0.5, max_output_tokens=64)

    assert (model.model_name, model.temperature, model.max_tokens) == ("large", 0.5, 64)
    assert get_chat_model().model_name == "small"


def test_usage_is_asked_for_at_ones_own_endpoint_unless_switched_off(models):
    models(default=OPENAI, old={**OPENAI, "OPTIONS": {**OPENAI["OPTIONS"], "stream_usage": False}})

    assert get_chat_model().stream_usage is True
    assert get_chat_model("old").stream_usage is False


def test_a_factory_serves_as_a_backend(models):
    models(default={"BACKEND": f"{__name__}.plain_factory"})

    assert get_chat_model().model == "x"
    assert get_chat_model(model_name="y").model == "y"
    with pytest.raises(ConfigurationError, match="temperature"):
        get_chat_model(temperature=0.5)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"BACKEND": "no.such.module.Model"}, "no.such.module.Model"),
        ({"OPTIONS": {}}, "BACKEND"),
        ({"BACKEND": f"{__name__}.not_a_model"}, "chat model"),
        ({**OPENAI, "OPTIONS": {"api_key": "sk-secret", "temperature": "warm"}}, "temperature"),
    ],
)
def test_a_wrong_entry_names_itself_and_no_secret(entry, says, models):
    models(default=entry)
    with pytest.raises(ConfigurationError) as caught:
        get_chat_model()

    assert says in str(caught.value)
    assert "'default'" in str(caught.value)
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"api_key": ""}, "OpenAIError. 'api_key' is empty."),
        ({"openai_api_key": None}, "OpenAIError. 'openai_api_key' is empty."),
        ({"api_key": SecretStr("")}, "OpenAIError. 'api_key' is empty."),
        ({"api_key": "k", "max_tokens": "many"}, "ValidationError."),
    ],
)
def test_a_model_that_cannot_be_built_shows_its_address_and_an_empty_key(
    options, says, models, monkeypatch
):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    base_url = "http://me:sk-secret@127.0.0.1:9/v1?key=sk-secret#sk-secret"
    models(default={**OPENAI, "OPTIONS": {"model": "m", "base_url": base_url, **options}})
    with pytest.raises(ConfigurationError) as caught:
        get_chat_model()

    assert str(caught.value).endswith(says)
    assert "['default'] at http://127.0.0.1:9/v1: " in str(caught.value)
    assert "sk-secret" not in str(caught.value)


def test_an_unknown_alias_names_the_ones_there_are():
    with pytest.raises(ConfigurationError, match="'scripted'"):
        get_chat_model("nowhere")


def test_vendors_are_not_imported_with_the_app():
    """Starting a site must not pay for a model it may not use."""
    code = (
        "import django, sys; django.setup(); import ai_answers.chat_models, ai_answers.tools;"
        "import ai_answers.agents.context, ai_answers.agents.prompts, ai_answers.agents.search;"
        "heavy = [m for m in ('langchain_core', 'langchain_openai', 'openai', 'pydantic')"
        " if m in sys.modules]; print(heavy); sys.exit(bool(heavy))"
    )
    environment = {"DJANGO_SETTINGS_MODULE": "tests.settings", "PATH": ""}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr
