"""Whose limits a request counts against: one bucket for one visitor, whatever a proxy writes."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import RequestFactory

from ai_answers.api.visitors import client_address, payer_key

PROXY = "10.0.0.9"


def request(*, forwarded=None, remote=PROXY):
    made = RequestFactory().get("/", REMOTE_ADDR=remote)
    if forwarded is not None:
        made.META["HTTP_X_FORWARDED_FOR"] = forwarded
    made.user = AnonymousUser()
    return made


@pytest.fixture
def proxies(settings):
    def behind(number):
        settings.AI_ANSWERS = settings.AI_ANSWERS | {"TRUSTED_PROXIES": number}

    return behind


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("192.0.2.1", "192.0.2.1"),
        (" 192.0.2.1 ", "192.0.2.1"),
        ("192.0.2.1:4711", "192.0.2.1"),
        ('"192.0.2.1:4711"', "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("[2001:db8:1:2:3:4:5:6]", "2001:db8:1:2::"),
        ("[2001:db8:1:2:3:4:5:6]:4711", "2001:db8:1:2::"),
        ('"[2001:DB8:1:2::77]:4711"', "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("[fe80::1%eth0]:80", "fe80::"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("[::ffff:192.0.2.1]:4711", "192.0.2.1"),
        ("unknown", PROXY),
        ("_hidden:4711", PROXY),
        ("2001:db8:1:2:3:4:5:6:4711", PROXY),
        ("192.0.2.999", PROXY),
        ("[192.0.2.1", "192.0.2.1"),
        ("[]:80", PROXY),
        (":80", PROXY),
        ("", PROXY),
        ("1.2.3.4\x00", PROXY),
    ],
)
def test_an_address_has_one_spelling_and_what_is_none_counts_as_the_proxys(
    proxies, written, address
):
    """Design 1.15: throttle keys from a trusted-proxy count."""
    proxies(1)
    assert client_address(request(forwarded=written)) == address
    assert client_address(request(forwarded=f"203.0.113.5, {written}")) == address


@pytest.mark.parametrize(
    ("count", "forwarded", "address"),
    [
        (0, "203.0.113.5", PROXY),
        (1, "203.0.113.5, 192.0.2.1", "192.0.2.1"),
        (2, "203.0.113.5, 192.0.2.1:99, 198.51.100.7:100", "192.0.2.1"),
        (2, "192.0.2.1", PROXY),
        (2, None, PROXY),
    ],
)
def test_only_what_trusted_proxies_wrote_counts(proxies, count, forwarded, address):
    proxies(count)
    assert client_address(request(forwarded=forwarded)) == address


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1:4711", "192.0.2.1"),
        ("[2001:db8:1:2::1]:4711", "2001:db8:1:2::"),
        ("", ""),
        ("unix:", "unix:"),
    ],
)
def test_a_server_that_writes_the_port_is_understood_too(remote, address):
    assert client_address(request(remote=remote)) == address


def test_a_new_port_is_no_new_budget(proxies):
    proxies(1)
    keys = {payer_key(request(forwarded=f"192.0.2.1:{port}")) for port in range(4000, 4010)}
    assert len(keys) == 1
    assert payer_key(request(forwarded="192.0.2.2:4000")) not in keys
