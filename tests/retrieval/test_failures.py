"""What errors of other people's packages mean, told by status, name and cause."""

from __future__ import annotations

import urllib.error
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import openai
import pytest

from ai_answers.retrieval.failures import is_about_input, is_temporary, retry_after


class Error(Exception):
    """As most vendors make them."""


def error(*, headers=None, response=None, **named):
    made = Error()
    if headers is not None:
        response = type("Response", (), {"headers": headers})()
    if response is not None:
        made.response = response
    for name, value in named.items():
        setattr(made, name, value)
    return made


def wrapped(cause, *, explicit=True):
    try:
        try:
            raise cause
        except Exception as inner:
            if explicit:
                raise ValueError("the service failed") from inner
            raise ValueError("the service failed")  # noqa: B904 - as some packages do
    except ValueError as outer:
        return outer


def aws(status):
    return error(response={"Error": {}, "ResponseMetadata": {"HTTPStatusCode": status}})


def http(status):
    return urllib.error.HTTPError("http://localhost/", status, "x", {}, None)


REQUEST = httpx.Request("POST", "http://localhost/")


@pytest.mark.parametrize(
    "made",
    [
        ConnectionResetError(),
        TimeoutError(),
        httpx.ConnectError("x"),
        httpx.ReadTimeout("x"),
        openai.APITimeoutError(REQUEST),
        openai.APIConnectionError(request=REQUEST),
        urllib.error.URLError(ConnectionRefusedError()),
        http(503),
        error(status_code=429),
        error(code=503),
        error(status=500),
        aws(503),
        wrapped(aws(503), explicit=False),
        wrapped(error(status_code=502)),
        wrapped(ConnectionError()),
    ],
    ids=repr,
)
def test_what_may_pass_is_temporary(made):
    assert is_temporary(made)


@pytest.mark.parametrize(
    "made",
    [
        httpx.UnsupportedProtocol("x"),
        http(404),
        error(status_code=429, code="insufficient_quota"),
        error(status_code=401),
        aws(403),
        wrapped(error(status_code=400)),
        ValueError(),
        KeyError("data"),
    ],
    ids=repr,
)
def test_what_will_not_pass_is_not(made):
    assert not is_temporary(made)


def test_an_error_about_the_text_says_nothing_of_the_next_text():
    about_text = [error(status_code=400), error(status_code=413), http(422)]
    assert all(map(is_about_input, [*about_text, wrapped(error(status_code=422))]))
    others = [error(status_code=401), error(status_code=500), TimeoutError(), aws(503)]
    assert not any(map(is_about_input, others))


def test_a_pause_is_asked_for_in_seconds_or_as_a_date():
    assert retry_after(error(headers={"retry-after": "7"})) == 7
    assert retry_after(wrapped(error(headers=httpx.Headers({"Retry-After": "2.5"})))) == 2.5
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert 80 < retry_after(error(headers={"retry-after": moment})) <= 90
    for nonsense in ("soon", "-3", "nan", "inf", ""):
        assert retry_after(error(headers={"retry-after": nonsense})) == 0
    assert retry_after(ValueError()) == 0
