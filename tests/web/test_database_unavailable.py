"""A full, locked or lost database gives a 503 with Retry-After. A defect stays a 500."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.db import Error, OperationalError, ProgrammingError
from django.db.utils import DatabaseErrorWrapper
from django.test import Client

from gangboard.store.database_state import RETRY_SECONDS, is_unavailable
from tests.personas import Person

SECRET = "sesame"


def busy(*_: object, **__: object) -> None:
    raise OperationalError(f"no connection to {SECRET}")


def defect(*_: object, **__: object) -> None:
    raise ProgrammingError(f"no such function {SECRET}")


def as_django_raises(cause: Exception, driver: object) -> Error:
    """Return Django's error for one of a driver."""
    wrapper = DatabaseErrorWrapper(SimpleNamespace(Database=driver))
    with pytest.raises(Error) as raised, wrapper:
        raise cause
    return raised.value


def sqlite_refuses(statement: str, file: Path, mode: str = "rw") -> Error:
    """Return Django's error for what SQLite says to a statement."""
    with closing(sqlite3.connect(f"file:{file}?mode={mode}", uri=True, timeout=0)) as reader:
        with pytest.raises(sqlite3.OperationalError) as raised:
            reader.execute(statement)
        return as_django_raises(raised.value, sqlite3)


def test_sqlite_file_errors_are_unavailable_and_errors_in_a_statement_are_not(
    tmp_path: Path,
) -> None:
    file = tmp_path / "one.sqlite3"
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("CREATE TABLE one (a)")
        writer.execute("BEGIN EXCLUSIVE")
        assert is_unavailable(sqlite_refuses("INSERT INTO one VALUES (1)", file))
        writer.execute("COMMIT")
        assert is_unavailable(sqlite_refuses("INSERT INTO one VALUES (1)", file, mode="ro"))
        assert not is_unavailable(sqlite_refuses("SELECT b FROM one", file))


@pytest.mark.parametrize(
    ("cause", "unavailable"),
    [
        (psycopg.errors.TooManyConnections(), True),
        (psycopg.errors.LockNotAvailable(), True),
        (psycopg.errors.QueryCanceled(), True),
        (psycopg.errors.DiskFull(), True),
        (psycopg.errors.AdminShutdown(), True),
        (psycopg.errors.ReadOnlySqlTransaction(), True),
        (psycopg.InterfaceError(), True),
        (psycopg.OperationalError("the connection is closed"), True),
        (psycopg.errors.StatementTooComplex(), False),
        (psycopg.errors.UndefinedTable(), False),
        (psycopg.errors.UniqueViolation(), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_postgresql_connection_errors_are_unavailable(
    cause: psycopg.Error, unavailable: bool
) -> None:
    assert is_unavailable(as_django_raises(cause, psycopg)) is unavailable


def test_errors_of_other_libraries_are_not_database_errors() -> None:
    assert not is_unavailable(ValueError("no connection"))


def unavailable_page(response: Any) -> None:
    """Raise AssertionError for all but the 503 in our layout."""
    assert response.status_code == 503
    assert response["Retry-After"] == str(RETRY_SECONDS)
    assert "default-src 'self'" in response["Content-Security-Policy"]
    assert b"The database does not answer" in response.content
    assert SECRET.encode() not in response.content


@pytest.mark.parametrize("path", ["/", "/clusters/", "/live/board/"])
def test_a_page_that_cannot_read_is_a_503(
    owner: Person, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gangboard.pages.core.auth.viewer_of", busy)
    owner.client.raise_request_exception = False
    unavailable_page(owner.client.get(path))
    monkeypatch.setattr("gangboard.pages.core.auth.viewer_of", defect)
    assert owner.client.get(path).status_code == 500


def test_a_session_that_cannot_be_read_is_a_503(
    owner: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SessionStore, "load", busy)
    owner.client.raise_request_exception = False
    unavailable_page(owner.client.get("/"))
    problem = owner.client.get("/api/v1/gangs/")
    assert (problem.status_code, problem["Content-Type"]) == (503, "application/problem+json")
    assert problem["Retry-After"] == str(RETRY_SECONDS)


def test_a_session_that_cannot_be_written_is_a_503(
    owner: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SessionStore, "save", busy)
    monkeypatch.setattr(SessionStore, "create", busy)
    client = Client(raise_request_exception=False)
    form = {"name": owner.user.get_username(), "password": "correct horse battery staple"}
    unavailable_page(client.post("/sign-in/", form))


def test_a_sign_in_that_cannot_be_counted_is_a_503(
    owner: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gangboard.store.rate_limits.take", busy)
    client = Client(raise_request_exception=False)
    unavailable_page(client.post("/sign-in/", {"name": "olga", "password": "x"}))


def test_an_unavailable_database_logs_no_tracebacks(
    owner: Person, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("gangboard.pages.core.auth.viewer_of", busy)
    owner.client.raise_request_exception = False
    owner.client.get("/")
    assert [record.exc_info for record in caplog.records] == [None]
