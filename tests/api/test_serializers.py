"""What counts as a question."""

import pytest

from ai_answers.api.serializers import QuestionSerializer


def serializer(question):
    return QuestionSerializer(data={"agent": "depot", "question": question})


@pytest.mark.parametrize(
    "question",
    [
        "",
        " \t\n",
        "\u200b",
        "\u2060\ufeff",
        " \u200b \u00a0 \u3000 ",
        "\u200c\u200d",
        "\u200e\u200f\u061c",
        "\u202e\u202c\u2066\u2069",
        "\u00ad\u034f\u115f\u1160\u3164\uffa0\u2800",
        "\ufe0f\U000e0100",
        "\U000e0001\U000e0048\U000e0069\U000e007f",
        "\x1b\x07\x9b\x85",
        "\u2028\u2029",
    ],
    ids=ascii,
)
def test_a_question_nobody_can_see_is_empty(question):
    """S13."""
    checked = serializer(question)
    assert not checked.is_valid()
    assert list(checked.errors) == ["question"]


@pytest.mark.parametrize(
    "question",
    [
        "Hours?",
        " \u200bHours?\u200b ",
        "?",
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",
        "\u2764\ufe0f\u200d\U0001f525",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u200f\u0645\u062a\u0649\u061f",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    ],
    ids=ascii,
)
def test_a_question_with_anything_to_see_stays_as_it_was_typed(question):
    checked = serializer(question)
    assert checked.is_valid(), checked.errors
    assert checked.validated_data["question"] == question
