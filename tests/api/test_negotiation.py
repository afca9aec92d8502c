"""Bodies: JSON objects within limits, and JSON only."""

import io

import pytest

from ai_answers.api.negotiation import BoundedJSONParser, accepts_stream
from ai_answers.exceptions import BodyTooLarge, InvalidQuestion
from ai_answers.models import Conversation


def parse(raw):
    return BoundedJSONParser().parse(io.BytesIO(raw))


@pytest.mark.parametrize("name", [b"NaN", b"Infinity", b"-Infinity"])
@pytest.mark.parametrize("body", [b'{"a": %s}', b'{"a": [1, %s]}', b'{"a": {"b": %s}}', b"%s"])
def test_numbers_that_json_does_not_know_are_refused(body, name):
    with pytest.raises(InvalidQuestion, match="not valid JSON"):
        parse(body % name)


def test_the_words_in_a_text_are_a_text():
    assert parse(b'{"question": "Is NaN or Infinity a number?", "n": 1.5, "m": null}') == {
        "question": "Is NaN or Infinity a number?",
        "n": 1.5,
        "m": None,
    }


def test_a_body_over_the_limit_is_not_read_to_its_end(settings):
    settings.AI_ANSWERS = settings.AI_ANSWERS | {"MAX_BODY_BYTES": 20}
    assert parse(b'{"a": "0123456789"}') == {"a": "0123456789"}
    stream = io.BytesIO(b'{"a": "' + b"x" * 1000 + b'"}')
    with pytest.raises(BodyTooLarge):
        BoundedJSONParser().parse(stream)
    assert stream.tell() == 21


@pytest.mark.parametrize("number", [b"NaN", b"Infinity"])
def test_such_a_question_is_a_400_and_nothing_is_written(visitor, number):
    """S10."""
    response = visitor.post("question", raw=b'{"agent": "depot", "question": %s}' % number)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid"
    assert not Conversation.objects.exists()


@pytest.mark.parametrize(
    ("accept", "streamed"),
    [
        ("text/event-stream", True),
        ("application/json, Text/Event-Stream; q=0.5", True),
        ("text/event-stream;q=0", False),
        ("text/event-stream; q = 0.0", False),
        ("text/*", False),
        ("*/*", False),
        ("", False),
    ],
)
def test_a_stream_has_to_be_asked_for_by_name(accept, streamed):
    """S6."""
    assert accepts_stream(accept) is streamed
