"""Sessions: when they end, who ends them, and which sign-in is fresh."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection
from django.db.models import QuerySet
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from gangboard.store import authentication, people, sessions
from gangboard.store.models import AuditEntry, SessionRecord
from gangboard.store.sessions import end_session, end_sessions, list_sessions
from tests.personas import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has noted no use yet."""
    monkeypatch.setattr(sessions, "_written", {})
    monkeypatch.setattr(sessions, "_writes_paused_until", 0.0)


@pytest.fixture
def ada() -> User:
    user, _ = people.create_user(name="ada", role="admin")
    user.set_password(PASSWORD)
    user.save()
    return user


def signed_in(address: str = "127.0.0.1") -> Client:
    """Return a browser in which ada has signed in by password."""
    client = Client(REMOTE_ADDR=address)
    answer = client.post("/sign-in/", {"name": "ada", "password": PASSWORD})
    assert answer.status_code == 302
    return client


def is_open(client: Client) -> bool:
    """Return whether the account page answers."""
    return client.get("/account/").status_code == 200


def move(by: timedelta, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let time pass, for Django and for the process."""
    real, clock, wall = timezone.now, time.monotonic, time.time
    monkeypatch.setattr(timezone, "now", lambda: real() + by)
    monkeypatch.setattr(time, "monotonic", lambda: clock() + by.total_seconds())
    monkeypatch.setattr(time, "time", lambda: wall() + by.total_seconds())


def end_of(client: Client) -> datetime:
    """Return until when the row of the session lasts."""
    key = sessions.row_key(client.cookies["sessionid"].value)
    return Session.objects.get(pk=key).expire_date


HOUR = timedelta(hours=1)


def test_an_idle_session_ends_after_8_hours(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in()
    with monkeypatch.context() as later:
        move(8 * HOUR - timedelta(minutes=1), later)
        assert list_sessions(user_id=ada.pk)
    move(8 * HOUR + timedelta(minutes=1), monkeypatch)
    assert not is_open(client)
    assert client.get("/api/v1/me/").status_code == 401
    assert list_sessions(user_id=ada.pk) == ()


def test_a_used_session_ends_after_12_hours(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in()
    for hours in (5, 10):
        with monkeypatch.context() as later:
            move(hours * HOUR, later)
            assert is_open(client)
    latest = SessionRecord.objects.get(user=ada).ends_at
    assert abs(end_of(client) - latest) < timedelta(seconds=1)
    move(12 * HOUR + timedelta(minutes=1), monkeypatch)
    assert not is_open(client)


def test_updates_of_an_open_page_do_not_extend_the_session(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = signed_in()
    with monkeypatch.context() as later:
        move(5 * HOUR, later)
        client.get("/account/", headers={"X-Live-Version": "x"})
    move(9 * HOUR, monkeypatch)
    assert not is_open(client)


def test_reading_writes_at_most_once_a_minute(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in()
    with CaptureQueriesContext(connection) as queries:
        assert is_open(client)
    assert not [query for query in queries if query["sql"].startswith("UPDATE")]
    move(timedelta(minutes=2), monkeypatch)
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            assert is_open(client)
        counts.append(sum(query["sql"].startswith("UPDATE") for query in queries))
    assert counts == [2, 0]


def test_a_busy_database_ends_no_read(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in()
    move(timedelta(minutes=2), monkeypatch)

    def locked(*_: object, **__: object) -> int:
        raise OperationalError("the database is locked")

    monkeypatch.setattr(QuerySet, "update", locked)
    assert is_open(client)
    assert is_open(client)


def test_the_list_has_times_and_addresses(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = signed_in("203.0.113.7"), signed_in("198.51.100.9")
    with monkeypatch.context() as later:
        move(timedelta(minutes=3), later)
        first.get("/account/", REMOTE_ADDR="192.0.2.44")
        rows = list_sessions(user_id=ada.pk, current=second.session)
    results = [(row.method, row.address, row.is_current) for row in rows]
    assert results == [("password", "192.0.2.44", False), ("password", "198.51.100.9", True)]
    assert rows[0].last_seen_at - rows[0].created_at >= timedelta(minutes=3)
    assert second.cookies["sessionid"].value not in str(list(SessionRecord.objects.values()))


def test_sessions_can_be_ended(ada: User) -> None:
    first, second, third = signed_in(), signed_in(), signed_in()
    local = next(
        row for row in list_sessions(user_id=ada.pk, current=first.session) if row.is_current
    )
    bob, _ = people.create_user(name="bob", role="viewer")
    assert not end_session(local.id, user=bob)
    assert end_session(local.id, user=ada, by="olga")
    assert not end_session(local.id, user=ada)
    assert (is_open(first), is_open(second), is_open(third)) == (False, True, True)
    assert end_sessions(ada, by="ada", keep=second.session) == 1
    assert (is_open(second), is_open(third)) == (True, False)
    assert end_sessions(ada) == 1
    assert not is_open(second)
    assert end_sessions(ada) == 0
    lines = AuditEntry.objects.filter(event="sessions-ended").order_by("number")
    assert [(line.actor_name, line.sentence) for line in lines] == [
        ("olga", "1 session of ada ended."),
        ("ada", "1 session of ada ended."),
        ("gangboard", "1 session of ada ended."),
    ]


def test_a_new_password_and_a_disabled_account_end_all_sessions(ada: User) -> None:
    client = signed_in()
    people.change_password(name="ada", password=PASSWORD)
    assert not is_open(client)
    assert list_sessions(user_id=ada.pk) == ()
    client = signed_in()
    people.disable_user(name="ada")
    assert (is_open(client), SessionRecord.objects.count()) == (False, 0)


def test_signing_out_and_expiry_leave_no_record(ada: User) -> None:
    client = signed_in()
    client.post("/sign-out/")
    assert SessionRecord.objects.count() == 0
    signed_in()
    Session.objects.update(expire_date=timezone.now() - HOUR)
    SessionRecord.objects.update(ends_at=timezone.now() - HOUR)
    sessions.delete_expired_sessions(ended_before=timezone.now())
    assert (Session.objects.count(), SessionRecord.objects.count()) == (0, 1), "for a kept form"
    SessionRecord.objects.update(ends_at=timezone.now() - 25 * HOUR)
    sessions.delete_expired_sessions(ended_before=timezone.now())
    assert SessionRecord.objects.count() == 0


def test_a_sign_in_link_begins_a_session(ada: User) -> None:
    client = Client()
    client.post("/sign-in/link/", {"secret": authentication.create_sign_in_link(user=ada)})
    assert [row.method for row in list_sessions(user_id=ada.pk)] == ["link"]


# --- fresh sign-ins

TARGETS = "verb=suspend&target=east/batch/Job/a/b/u1/1&target=east/batch/Job/a/c/u2/1"
SIXTEEN_MINUTES = timedelta(minutes=16)


def test_acting_on_several_objects_needs_a_fresh_sign_in(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = signed_in()
    address = f"/actions/confirm/?{TARGETS}"
    assert client.get(address).status_code != 303
    move(SIXTEEN_MINUTES, monkeypatch)
    answer = client.get(address)
    assert answer.status_code == 303
    assert answer["Location"].startswith("/sign-in/?next=%2Factions%2Fconfirm%2F%3Fverb")
    assert client.get(address.rpartition("&")[0]).status_code != 303
    page = client.get(answer["Location"])
    assert page.status_code == 200
    assert 'id="fresh"' in page.content.decode()
    key = client.cookies["sessionid"].value
    second_answer = client.post(
        "/sign-in/",
        {"name": "ada", "password": PASSWORD, "next": page.context["next"]},
    )
    assert second_answer["Location"] == page.context["next"]
    assert client.cookies["sessionid"].value != key
    assert client.get(address).status_code != 303
    assert len(list_sessions(user_id=ada.pk)) == 1


def test_a_dialog_leads_the_whole_page_to_sign_in(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = signed_in()
    move(SIXTEEN_MINUTES, monkeypatch)
    answer = client.get(
        f"/actions/confirm/?{TARGETS}",
        headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/?health=blocked"},
    )
    assert answer["HX-Redirect"] == "/sign-in/?next=%2F%3Fhealth%3Dblocked&fresh=1"


def test_an_unsaved_form_leads_back_to_its_page(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in()
    move(SIXTEEN_MINUTES, monkeypatch)
    for referer, page in (
        ("http://testserver/account/?x=1", "%2Faccount%2F%3Fx%3D1"),
        ("https://evil.example/account/", "%2F"),
        ("", "%2F"),
    ):
        answer = client.post("/account/password/", {"new": "x"}, headers={"Referer": referer})
        assert answer["Location"] == f"/sign-in/?next={page}&fresh=1"
    refused = client.post("/api/v1/me/tokens/", {"days": 7}, content_type="application/json")
    assert refused.status_code == 403
    assert refused.json()["detail"].startswith("Sign in again to do that")


# --- local accounts that are switched off


def test_passwords_can_be_switched_off(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "LOCAL_SIGN_IN", ("link",))
    client = Client()
    assert 'id="password"' not in client.get("/sign-in/").content.decode()
    answer = client.post("/sign-in/", {"name": "ada", "password": PASSWORD})
    assert answer.status_code == 403
    assert "Passwords are switched off here" in answer.content.decode()
    assert not is_open(client)


def test_links_can_be_switched_off(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = authentication.create_sign_in_link(user=ada)
    monkeypatch.setattr(settings, "LOCAL_SIGN_IN", ("password",))
    client = Client()
    assert "sign-in link" not in client.get("/sign-in/").content.decode()
    for answer in (
        client.get(f"/sign-in/link/{secret}/"),
        client.post("/sign-in/link/", {"secret": secret}),
    ):
        assert answer.status_code == 403
        assert "Sign-in links are switched off here" in answer.content.decode()
    assert not is_open(client)
