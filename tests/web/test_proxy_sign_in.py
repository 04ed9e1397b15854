"""Sign-in by a header of a trusted proxy. The header is ignored from other clients."""

from __future__ import annotations

from ipaddress import ip_network

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from gangboard.serving.request import environ_of
from gangboard.store import people
from gangboard.store.access import viewer_of
from gangboard.store.group_roles import grant_group
from gangboard.store.models import AuditEntry, Identity, SessionRecord

pytestmark = pytest.mark.django_db

PROXY, STRANGER = "10.1.2.3", "203.0.113.7"


@pytest.fixture(autouse=True)
def proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "PROXY_USER_HEADER", "X-Forwarded-User")
    monkeypatch.setattr(settings, "PROXY_GROUPS_HEADER", "X-Forwarded-Groups")
    monkeypatch.setattr(settings, "TRUSTED_PROXIES", (ip_network("10.1.2.0/24"),))


def get_board(
    client: Client, user: str | None = "ada", groups: str = "", peer: str = PROXY, path: str = "/"
) -> int:
    headers = {"X-Forwarded-Groups": groups, "X-Forwarded-For": PROXY}
    if user is not None:
        headers["X-Forwarded-User"] = user
    return client.get(path, headers=headers, REMOTE_ADDR=peer).status_code


def roles(name: str) -> list[str]:
    return sorted(scope.role for scope in viewer_of(User.objects.get(username=name)).scopes)


def test_a_trusted_proxy_signs_in_with_the_groups_that_it_names() -> None:
    grant_group(group="ml", role="viewer")
    grant_group(group="sre", role="admin")
    client = Client()
    assert get_board(client, groups="ml, chess") == 200
    assert roles("ada") == ["viewer"]
    identity = Identity.objects.get()
    assert (identity.issuer, identity.subject) == ("proxy", "ada")
    assert get_board(client, groups="ml, chess") == 200
    assert SessionRecord.objects.get().method == "proxy"
    assert AuditEntry.objects.filter(event="signed-in").count() == 1


def test_other_groups_count_with_the_next_request() -> None:
    grant_group(group="ml", role="viewer")
    client = Client()
    get_board(client, groups="ml")
    get_board(client, groups="chess")
    assert roles("ada") == []


@pytest.mark.parametrize("peer", [STRANGER, "127.0.0.1", ""])
def test_a_header_from_anyone_else_is_ignored_and_logged_once(
    peer: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = Client()
    assert get_board(client, peer=peer) == 302
    assert get_board(client, peer=peer) == 302
    assert User.objects.count() == 0
    lines = [record for record in caplog.records if "is not believed" in record.getMessage()]
    assert len(lines) == 1


def test_a_repeated_header_is_refused() -> None:
    assert get_board(Client(), user="ada,olga") == 302
    scope = {
        "method": "GET",
        "raw_path": b"/",
        "query_string": b"",
        "http_version": "1.1",
        "headers": [(b"x-forwarded-user", b"eve"), (b"x-forwarded-user", b"ada")],
    }
    assert environ_of(scope, b"")["HTTP_X_FORWARDED_USER"] == "eve,ada"
    scope["headers"] = [(b"x_forwarded_user", b"eve")]
    assert "HTTP_X_FORWARDED_USER" not in environ_of(scope, b"")
    assert User.objects.count() == 0


def test_a_local_account_of_that_name_is_not_taken_over() -> None:
    people.create_user(name="admin", role="admin")
    assert get_board(Client(), user="admin") == 200
    assert roles("admin") == ["admin"]
    assert roles("admin-2") == []


def test_the_session_ends_with_the_header_and_changes_with_the_name() -> None:
    client = Client()
    get_board(client)
    assert get_board(client, user="bob") == 200
    assert SessionRecord.objects.get().user.username == "bob"
    assert get_board(client, user=None) == 302
    assert get_board(client, user="bob", peer=STRANGER) == 302
    assert SessionRecord.objects.count() == 0


def test_the_api_and_probes_start_no_session() -> None:
    for path, status in (("/api/v1/me/", 401), ("/healthz", 200)):
        assert get_board(Client(), path=path) == status
    assert User.objects.count() == 0


def test_a_disabled_user_is_refused() -> None:
    client = Client()
    get_board(client)
    people.disable_user(name="ada")
    assert get_board(client) == 302


def test_the_header_is_ignored_without_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "PROXY_USER_HEADER", "")
    assert get_board(Client()) == 302
    assert User.objects.count() == 0
