import pytest

from ai_answers.conf import alias_settings, app_settings, import_part, setting_callable
from ai_answers.exceptions import ConfigurationError
from ai_answers.tokens import count_tokens


def test_a_misspelt_key_names_the_right_one(settings):
    settings.AI_ANSWERS = {"MAX_QUESTION_CHAR": 10}
    with pytest.raises(ConfigurationError, match="'MAX_QUESTION_CHAR'.*'MAX_QUESTION_CHARS'"):
        app_settings()


def test_settings_are_read_anew_each_time(settings):
    settings.AI_ANSWERS = {"MAX_ROUNDS": 2}
    assert app_settings().MAX_ROUNDS == 2
    settings.AI_ANSWERS = {}
    assert app_settings().MAX_ROUNDS == 4


def test_an_unknown_alias_lists_the_known_ones():
    with pytest.raises(ConfigurationError, match="'gone'; there are: 'default', 'scripted'"):
        alias_settings("CHAT_MODELS", "gone")


def test_an_alias_without_backend_says_what_it_must_be(settings):
    settings.AI_ANSWERS = {"CHAT_MODELS": {"default": "path.to.Model"}}
    with pytest.raises(ConfigurationError, match="dict with a 'BACKEND'"):
        alias_settings("CHAT_MODELS", "default")


def test_a_bad_dotted_path_names_path_and_setting(settings):
    with pytest.raises(ConfigurationError, match="RUNNER.*'no.such.Runner'"):
        import_part("no.such.Runner", setting="AI_ANSWERS['RUNNER']")
    settings.AI_ANSWERS = {"SCOPE": 5}
    with pytest.raises(ConfigurationError, match="callable or its dotted path, not 5"):
        setting_callable("SCOPE")


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcdefgh", 2), ("図書館", 3)])
def test_tokens_are_estimated_by_script(text, tokens):
    assert count_tokens(text) == tokens
