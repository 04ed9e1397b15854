"""One line of JSON for each request: who, what, from where; no secret, no value of a parameter."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from gangboard.logs import LineFormatter
from gangboard.store.audit import audit
from gangboard.store.authentication import create_sign_in_link, issue_token
from gangboard.store.models import AuditEntry
from tests.personas import make_owner

pytestmark = pytest.mark.django_db


class Lines(logging.Handler):
    """Collects the lines that the configured log handler writes."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(LineFormatter(as_json=True))
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))


@pytest.fixture
def lines(settings: Settings) -> Iterator[list[str]]:
    settings.ACCESS_LOG = settings.AUDIT_LOG = True
    stored = Lines()
    loggers = [logging.getLogger(f"gangboard.{name}") for name in ("access", "audit")]
    for logger in loggers:
        logger.addHandler(stored)
    yield stored.texts
    for logger in loggers:
        logger.removeHandler(stored)


def last(lines: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def test_a_request_of_a_user_and_one_of_a_token(lines: list[str], settings: Settings) -> None:
    settings.TRUSTED_PROXIES = ()
    owner = make_owner()
    owner.client.get("/?q=sesame&namespace=team", headers={"User-Agent": "Firefox"})
    line = last(lines)
    assert line.pop("seconds") >= 0
    assert line.pop("timestamp")
    assert line == {
        "event": "request",
        "level": "info",
        "logger": "gangboard.access",
        "method": "GET",
        "path": "/",
        "parameters": ["namespace", "q"],
        "view": "board",
        "status": 200,
        "user": "olga",
        "source": "127.0.0.1",
        "agent": "Firefox",
    }
    token = issue_token(user=owner.user)
    Client().get("/api/v1/clusters/", headers={"Authorization": f"Bearer {token}"})
    assert (last(lines)["user"], last(lines)["status"]) == ("olga", 200)
    Client().get("/")
    assert (last(lines)["user"], last(lines)["status"]) == ("", 302)
    assert token.rpartition("_")[2] not in "".join(lines)


@pytest.mark.parametrize(
    "path",
    [
        "/sign-in/link/{}/",
        "/sign-in/link/{}",
        "/sign-in//link/{}/",
        "/Sign-In/link/{}/x",
        "/sign%2Din/link/{}/",
        "/gangs/?{}",
        "/gangs/?token={}",
        "/sign-in/?next=/sign-in/link/{}/",
    ],
)
def test_a_one_time_secret_is_not_logged(lines: list[str], path: str) -> None:
    secret = create_sign_in_link(user=make_owner().user)
    Client().get(path.format(secret))
    assert len(lines) == 1
    assert secret not in lines[0]
    assert last(lines)["path"].startswith(("/sign-in/", "/gangs/"))


def test_a_refused_request_is_logged_and_its_text_forges_no_line(lines: list[str]) -> None:
    Client().get("/gangs/a\n{}/", headers={"Host": "evil.example", "User-Agent": "a\x1b[2J\nb"})
    assert last(lines)["status"] == 400
    assert "\x1b" not in lines[-1]
    assert len(lines[-1].splitlines()) == 1


def test_requests_are_not_logged_by_default(lines: list[str], settings: Settings) -> None:
    settings.ACCESS_LOG = settings.AUDIT_LOG = False
    Client().get("/healthz")
    audit("switch", "Ada switched it.", at=timezone.now(), actor="ada")
    assert lines == []


@pytest.mark.django_db(transaction=True)
def test_an_audit_row_is_logged_after_the_commit(lines: list[str]) -> None:
    with transaction.atomic():
        audit("switch", "Ada switched it.", at=timezone.now(), actor="ada")
        transaction.set_rollback(True)
    assert lines == []
    audit(
        "switch",
        "Ada made all read-only.",
        at=timezone.now(),
        actor="ada",
        source="203.0.113.9",
        details={"on": True},
    )
    row = AuditEntry.objects.get()
    line = last(lines)
    assert (line["event"], line["logger"]) == ("audit", "gangboard.audit")
    expected_fields = {
        name: line[name] for name in ("number", "digest", "audit_event", "sentence", "source")
    }
    assert expected_fields == {
        "number": 1,
        "digest": row.digest,
        "audit_event": "switch",
        "sentence": "Ada made all read-only.",
        "source": "203.0.113.9",
    }
    assert (line["actor_name"], line["details"]) == ("ada", {"on": True})
