"""Environment variables: typed, loud when they are wrong, and secrets from files."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from gangboard import env
from gangboard.database_url import database_settings
from gangboard.env import SettingError

NAME = "GANGBOARD_TRIED"


@pytest.mark.parametrize(("raw", "value"), [("on", True), ("0", False), ("Yes", True), ("", False)])
def test_switches(monkeypatch: pytest.MonkeyPatch, raw: str, value: bool) -> None:
    monkeypatch.setenv(NAME, raw)
    assert env.read_bool(NAME, default=not value, meaning="") is value


def test_a_switch_that_is_neither_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "maybe")
    with pytest.raises(SettingError, match=f"{NAME} is 'maybe'; it must be on or off"):
        env.read_bool(NAME, default=True, meaning="")


@pytest.mark.parametrize(("raw", "words"), [("many", "a number"), ("0", "from 1 to 10")])
def test_numbers_outside_are_refused(monkeypatch: pytest.MonkeyPatch, raw: str, words: str) -> None:
    monkeypatch.setenv(NAME, raw)
    with pytest.raises(SettingError, match=words):
        env.read_number(NAME, 5, "", least=1, most=10)


def test_an_address_comes_from_the_file_that_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "url"
    file.write_text("redis://:secret@redis/0\n")
    monkeypatch.setenv(f"{NAME}_FILE", str(file))
    assert env.read_address(NAME, "", "") == "redis://:secret@redis/0"
    monkeypatch.setenv(NAME, "redis://other/0")
    assert env.read_address(NAME, "", "") == "redis://other/0"


def test_a_file_that_cannot_be_read_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(f"{NAME}_FILE", str(tmp_path / "nothing"))
    with pytest.raises(SettingError, match="No such file"):
        env.read_address(NAME, "", "")
    with pytest.raises(SettingError, match="No such file"):
        env.read_secret(NAME, tmp_path, "", lambda: "made")


def test_a_secret_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    made = iter(("first", "second"))
    assert env.read_secret(NAME, tmp_path, "", lambda: next(made)) == "first"
    assert env.read_secret(NAME, tmp_path, "", lambda: next(made)) == "first"
    file = tmp_path / "tried"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["tried"]


def test_a_database_url_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(SettingError, match="must begin with sqlite:/// or postgresql://"):
        database_settings("mysql://u@h/db")
    with pytest.raises(SettingError, match="names no file"):
        database_settings("sqlite:///")


def test_a_postgresql_url_is_taken_apart() -> None:
    found = database_settings("postgresql://us%40er:p%2Fw@db.example:5433/gang?sslmode=require")
    assert (found["USER"], found["PASSWORD"], found["HOST"], found["PORT"], found["NAME"]) == (
        "us@er",
        "p/w",
        "db.example",
        "5433",
        "gang",
    )
    assert found["OPTIONS"]["sslmode"] == "require"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("", ""),
        ("redis://redis:6379/0", "redis://redis:6379/0"),
        ("redis://:s3@cret@redis:6379/0", "redis://:(hidden)@redis:6379/0"),
        ("postgresql://gang:s3/cr@et@db/gang", "postgresql://gang:(hidden)@db/gang"),
        (
            "postgresql://gang@db/gang?password=s3cret",
            "postgresql://gang@db/gang?password=(hidden)",
        ),
        (
            "rediss://:s3cret@redis/0?ssl_cert_reqs=required&password=s3:cret",
            "rediss://:(hidden)@redis/0?ssl_cert_reqs=(hidden)&password=(hidden)",
        ),
        # Whether the @ is of the password or of the query cannot be told.
        ("redis://redis:6379/0?password=s3@cret", "redis://(hidden)"),
        ("redis://:s3?cr@et@redis/0", "redis://(hidden)"),
        ("s3cret", "(hidden)"),
    ],
)
def test_no_part_of_a_password_is_shown(
    monkeypatch: pytest.MonkeyPatch, address: str, shown: str
) -> None:
    monkeypatch.setenv(NAME, address)
    assert env.read_address(NAME, "", "") == address
    (variable,) = [one for one in env.variables() if one.name == NAME]
    assert variable.shown == shown
