"""A wrong host is logged in one line, because anyone can send many such requests."""

from __future__ import annotations

import logging

import pytest
from django.test import Client


def test_a_wrong_host_is_refused_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        answer = Client(raise_request_exception=False).get(
            "/sign-in/", headers={"host": "evil.example" + "x" * 5000}
        )
    assert answer.status_code == 400
    (record,) = caplog.records
    assert record.getMessage().startswith("Invalid HTTP_HOST header: 'evil.examplexxx")
    assert len(record.getMessage()) == 200
    assert record.exc_info is None
