import pytest

from ai_answers.sources import PublicSource
from ai_answers.sources.languages import best_language


class Languages(PublicSource):
    def get_languages(self, obj):
        return obj


@pytest.mark.parametrize(
    ("has", "asker", "retrieved", "shown"),
    [
        (["en", "de"], "de", "en", "de"),
        (["en", "fr"], "de", "fr", "fr"),
        (["pt", "en"], "pt-br", "en", "pt"),
        (["pt-br", "pt-pt"], "pt-pt", "pt-br", "pt-pt"),
        (["zh-hans"], "zh", "zh-hans", "zh-hans"),
        (["EN_us", "de"], "en-us", "de", "EN_us"),
        ([""], "de", "", ""),
        (["en"], "", "en", "en"),
        (["fr"], "de", "en", "fr"),
    ],
)
def test_the_askers_language_is_shown_if_the_object_has_it_else_the_retrieved_one(
    has, asker, retrieved, shown
):
    """S54."""
    assert best_language(Languages(), has, asker, retrieved) == shown


def test_a_source_that_cannot_tell_its_languages_keeps_the_retrieved_one():
    class Broken(PublicSource):
        def get_languages(self, obj):
            raise RuntimeError("broken")

    assert best_language(Broken(), object(), "de", "en") == "en"
