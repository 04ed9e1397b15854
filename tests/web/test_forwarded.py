"""Forwarded headers that mark a request as https."""

from __future__ import annotations

import logging
from ipaddress import ip_network

import pytest
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from gangboard.pages.core.middleware.headers import ForwardedProtoMiddleware

NAMED = (ip_network("172.30.77.0/24"), ip_network("fd00::/8"))


@pytest.fixture(autouse=True)
def https(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "HTTPS", True)
    monkeypatch.setattr(settings, "SECURE_PROXY_SSL_HEADER", ("HTTP_X_FORWARDED_PROTO", "https"))


@pytest.mark.parametrize(
    ("named", "peer", "believed"),
    [
        # The default trusts a proxy on this machine, as in `make run` and most plain installations.
        ((), "127.0.0.1", True),
        ((), "127.0.0.2", True),
        ((), "::1", True),
        ((), "::ffff:127.0.0.1", True),
        ((), "203.0.113.7", False),
        ((), "10.0.0.7", False),
        ((), "", False),
        # Configured proxies are the trusted ones.
        (NAMED, "172.30.77.9", True),
        (NAMED, "::ffff:172.30.77.9", True),
        (NAMED, "fd00::9", True),
        (NAMED, "172.30.78.9", False),
        (NAMED, "127.0.0.1", False),
    ],
)
def test_https_is_accepted_only_from_a_trusted_proxy(
    monkeypatch: pytest.MonkeyPatch, named: tuple[object, ...], peer: str, believed: bool
) -> None:
    monkeypatch.setattr(settings, "TRUSTED_PROXIES", named)
    monkeypatch.setattr(settings, "SECURE_SSL_REDIRECT", True)
    client = Client(REMOTE_ADDR=peer, HTTP_X_FORWARDED_PROTO="https")
    answer = client.get("/no-such-page", headers={"host": "localhost"})
    assert (answer.status_code == 301) is not believed


def test_an_untrusted_https_header_is_logged_at_intervals(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = [1000.0]
    monkeypatch.setattr("gangboard.pages.core.middleware.headers.time.monotonic", lambda: now[0])
    observed: list[bool] = []

    def view(request: HttpRequest) -> HttpResponse:
        observed.append(request.is_secure())
        return HttpResponse()

    middleware = ForwardedProtoMiddleware(view)

    def request_from(peer: str) -> int:
        caplog.clear()
        middleware(RequestFactory().get("/", REMOTE_ADDR=peer, HTTP_X_FORWARDED_PROTO="https"))
        return len([record for record in caplog.records if record.levelno == logging.WARNING])

    assert request_from("127.0.0.1") == 0
    assert request_from("203.0.113.7") == 1
    assert "GANGBOARD_TRUSTED_PROXIES" in caplog.text
    assert "203.0.113.7" in caplog.text
    assert request_from("203.0.113.8") == 0
    now[0] += 599
    assert request_from("203.0.113.7") == 0
    now[0] += 2
    assert request_from("203.0.113.7") == 1
    assert observed == [True, False, False, False, False]


def test_plain_http_logs_no_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(settings, "HTTPS", False)
    Client(REMOTE_ADDR="203.0.113.7", HTTP_X_FORWARDED_PROTO="https").get("/no-such-page")
    assert "X-Forwarded-Proto" not in caplog.text
