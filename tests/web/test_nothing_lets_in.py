"""A copy of the database contains no usable credential of a browser or program."""

from __future__ import annotations

import hashlib
import importlib
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.apps import apps
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.utils import timezone

from gangboard.store import authentication, clusters, people
from gangboard.store.models import Cluster
from gangboard.store.sessions import SessionStore
from tests.personas import PASSWORD, make_owner

pytestmark = pytest.mark.django_db

TYPED = "hunter2-in-the-wrong-field"
"""A password that was typed as a name."""
SIGN_IN = "/sign-in/"


def rows() -> list[tuple[str, str]]:
    """Every row of every table, as text with the name of its table."""
    result = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            result += [(table, str(row)) for row in cursor.fetchall()]
    return result


def holders(secret: str, result: list[tuple[str, str]]) -> list[str]:
    assert len(secret) >= 8
    return sorted({table for table, row in result if secret in row})


def cookie_of(client: Client) -> str:
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def sign_in(client: Client, name: str, password: str) -> int:
    return client.post(SIGN_IN, {"name": name, "password": password}).status_code


def test_rows_contain_no_secret_of_a_signed_in_user() -> None:
    owner = make_owner()
    browser, linked = Client(), Client()
    assert browser.get(SIGN_IN).status_code == 200
    assert sign_in(browser, TYPED, "x") == 403
    assert sign_in(browser, "olga", PASSWORD) == 302
    assert browser.get("/").status_code == 200
    link = authentication.create_sign_in_link(user=owner.user)
    unused = authentication.create_sign_in_link(user=owner.user)
    assert linked.post("/sign-in/link/", {"secret": link}).status_code == 302
    token = authentication.issue_token(user=owner.user, may_act=True)
    answer = Client().get("/api/v1/clusters/", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200
    secrets = {
        "session by password": cookie_of(browser),
        "session by link": cookie_of(linked),
        "CSRF": browser.cookies[settings.CSRF_COOKIE_NAME].value,
        "used link": link,
        "link": unused,
        "token": token.rpartition("_")[2],
        "password": PASSWORD,
        "what was typed as a name": TYPED,
        "its plain hash": hashlib.sha256(f"password\0{TYPED}\x00127.0.0.1".encode()).hexdigest(),
    }
    result = rows()
    assert {
        secret: tables for secret in secrets if (tables := holders(secrets[secret], result))
    } == {}
    sessions = [row for table, row in result if table == "django_session"]
    assert len(sessions) >= 2, "the scan has read the sessions"


def test_a_stored_session_key_opens_no_page() -> None:
    owner = make_owner()
    assert owner.client.get("/").status_code == 200
    with connection.cursor() as cursor:
        cursor.execute("SELECT session_key FROM django_session")
        keys = [key for (key,) in cursor.fetchall()]
    assert keys
    for key in keys:
        thief = Client()
        thief.cookies[settings.SESSION_COOKIE_NAME] = key
        answer = thief.get("/")
        assert (answer.status_code, answer.headers["Location"]) == (302, SIGN_IN)


def test_sessions_continue_and_end_with_hashed_keys() -> None:
    owner, another = make_owner(), Client()
    assert sign_in(another, "olga", PASSWORD) == 302
    assert another.get("/").status_code == 200
    key = cookie_of(another)
    assert another.post("/sign-out/").status_code == 302
    another.cookies[settings.SESSION_COOKIE_NAME] = key
    assert another.get("/").status_code == 302, "it is deleted, not only forgotten by the browser"
    assert owner.client.get("/").status_code == 200, "the other browser stays"
    people.disable_user(name="olga")
    assert owner.client.get("/").status_code == 302


def test_an_upgrade_ends_the_sessions_whose_cookies_are_stored() -> None:
    owner = make_owner()
    Session.objects.create(session_key="a-cookie", session_data="", expire_date=timezone.now())
    migration = importlib.import_module("gangboard.store.migrations.0002_hashed_sessions")
    migration.end_sessions(apps, SimpleNamespace(connection=connection))
    assert not Session.objects.exists()
    assert owner.client.get("/").status_code == 302


def test_a_session_can_change_its_key_and_be_deleted() -> None:
    session = SessionStore()
    session["page"] = "board"
    session.save()
    first = str(session.session_key)
    assert session.exists(first)
    assert SessionStore(first)["page"] == "board"
    session.cycle_key()
    second = str(session.session_key)
    assert (session.exists(first), session.exists(second)) == (False, True)
    assert SessionStore(second)["page"] == "board"
    session.flush()
    assert not session.exists(second)
    deleted_session_store = SessionStore(second)
    assert (deleted_session_store.get("page"), deleted_session_store.session_key) == (None, None)


def test_asynchronous_calls_hash_keys() -> None:
    async def play() -> Any:
        session = SessionStore()
        await session.aset("page", "board")
        await session.asave()
        key = str(session.session_key)
        assert await session.aexists(key)
        page = await SessionStore(key).aget("page")
        stored = [row.session_key async for row in session.model.objects.all()]
        assert key not in stored
        await session.adelete(key)
        assert not await session.aexists(key)
        return page

    assert async_to_sync(play)() == "board"


def test_sessions_survive_a_secret_key_rotation(settings: Any) -> None:
    """Django signs a session anew that it reads with the old key."""
    owner, idle = make_owner(), Client()
    idle.force_login(owner.user)
    old = settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new-key-0123456789" * 3, [old]
    assert owner.client.get("/").status_code == 200
    settings.SECRET_KEY_FALLBACKS = []
    assert owner.client.get("/").status_code == 200
    assert idle.get("/").status_code == 302


def test_stored_credentials_are_not_readable() -> None:
    clusters.add_cluster(name="east", document={"token": "sesame-of-east"}, server="https://e")
    assert Cluster.objects.count() == 1
    assert holders("sesame-of-east", rows()) == []
