"""Environment variables: typed, loud when they are wrong, and secrets from files."""

from __future__ import annotations

import stat
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from gangboard import env
from gangboard.addresses import hide_passwords, hide_secrets
from gangboard.database_url import database_settings
from gangboard.env import SettingError
from gangboard.keys import read_keys

NAME = "GANGBOARD_TRIED"


def keys_of(folder: Path, make: Callable[[], str] = lambda: "made") -> tuple[str, ...]:
    """Read keys of which only `bad` cannot be used."""
    problem = {"bad": "must be good"}.get
    return read_keys(NAME, "", folder=folder, make=make, problem=lambda key: problem(key, ""))


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables of these tests do not stay settings of gangboard."""
    monkeypatch.setattr(env, "_read", dict(env._read))
    monkeypatch.setattr(env, "_files", dict(env._files))


@pytest.mark.parametrize(
    ("raw", "value"), [("on", True), ("0", False), ("Yes", True), ("OFF", False)]
)
def test_switches_are_parsed(monkeypatch: pytest.MonkeyPatch, raw: str, value: bool) -> None:
    monkeypatch.setenv(NAME, raw)
    assert env.read_bool(NAME, default=not value, meaning="") is value


def test_an_invalid_switch_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "maybe")
    with pytest.raises(SettingError, match=f"{NAME} is 'maybe'; it must be on or off"):
        env.read_bool(NAME, default=True, meaning="")


@pytest.mark.parametrize(("raw", "message"), [("many", "a number"), ("0", "from 1 to 10")])
def test_numbers_out_of_range_are_refused(
    monkeypatch: pytest.MonkeyPatch, raw: str, message: str
) -> None:
    monkeypatch.setenv(NAME, raw)
    with pytest.raises(SettingError, match=message):
        env.read_number(NAME, 5, "", least=1, most=10)


def test_an_address_is_read_from_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text("redis://:secret@redis/0\n")
    monkeypatch.setenv(f"{NAME}_FILE", str(file))
    assert env.read_address(NAME, "", "", schemes=("redis",)) == "redis://:secret@redis/0"
    monkeypatch.setenv(NAME, "redis://other/0")
    assert env.read_address(NAME, "", "", schemes=("redis",)) == "redis://other/0"


def test_an_unreadable_file_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(f"{NAME}_FILE", str(tmp_path / "nothing"))
    with pytest.raises(SettingError, match="No such file"):
        env.read_address(NAME, "", "", schemes=("redis",))
    with pytest.raises(SettingError, match="No such file"):
        keys_of(tmp_path)


def test_a_secret_is_generated_once_and_private(tmp_path: Path) -> None:
    created = iter(("first", "second"))
    assert keys_of(tmp_path, lambda: next(created)) == ("first",)
    assert keys_of(tmp_path, lambda: next(created)) == ("first",)
    file = tmp_path / "tried"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["tried"]


@pytest.mark.parametrize("text", ["new old", "new,old", "new\nold\n", " new , old "])
def test_several_keys_are_read_in_order(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(NAME, text)
    assert keys_of(Path("/nowhere")) == ("new", "old")
    (variable,) = (read for read in env.variables() if read.name == NAME)
    assert variable.shown == "(2 keys, hidden)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bad", f"^{NAME} must be good"),
        ("new bad", f"^key 2 of {NAME} must be good"),
        (" ", f"^{NAME} holds no key"),
    ],
)
def test_a_bad_key_is_named_and_not_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, message: str
) -> None:
    monkeypatch.setenv(NAME, text)
    with pytest.raises(SettingError, match=message):
        keys_of(tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_empty_file_holds_no_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    monkeypatch.setenv(f"{NAME}_FILE", str(tmp_path / "empty"))
    with pytest.raises(SettingError, match=f"from the file of {NAME}_FILE, holds no key"):
        keys_of(tmp_path)


def test_the_files_of_secrets_are_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("made")
    monkeypatch.setenv(f"{NAME}_FILE", str(tmp_path / "key"))
    assert keys_of(tmp_path) == ("made",)
    assert tmp_path / "key" in env.secret_files()


def test_a_database_url_names_a_file() -> None:
    with pytest.raises(SettingError, match="names no file"):
        database_settings("sqlite:///")


def test_a_secret_given_as_a_file_name_is_not_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(f"{NAME}_FILE", "redis://:sesame@redis/0")
    with pytest.raises(SettingError, match=f"{NAME}_FILE") as caught:
        env.read_address(NAME, "", "", schemes=("redis",))
    assert "sesame" not in error_text(caught.value)
    with pytest.raises(SettingError, match=f"{NAME}_FILE") as caught:
        keys_of(tmp_path)
    assert "sesame" not in error_text(caught.value)


def test_an_unset_token_is_none_and_not_generated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert env.read_token(NAME, "") == ""
    monkeypatch.setenv(NAME, "")
    assert env.read_token(NAME, "") == ""
    file = tmp_path / "token"
    file.write_text("from-the-file\n")
    monkeypatch.setenv(f"{NAME}_FILE", str(file))
    assert env.read_token(NAME, "") == "from-the-file"
    monkeypatch.setenv(NAME, "a~Token/1")
    assert env.read_token(NAME, "") == "a~Token/1"
    (variable,) = (item for item in env.variables() if item.name == NAME)
    assert (variable.shown, variable.is_set) == ("(hidden)", True)


@pytest.mark.parametrize("token", ["two sesame", "sesame\n", "sésame"])
def test_a_token_unfit_for_a_header_is_refused_and_not_printed(
    monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv(NAME, token)
    with pytest.raises(SettingError, match=f"^{NAME} must be of ASCII") as caught:
        env.read_token(NAME, "")
    assert token not in error_text(caught.value)


def error_text(error: BaseException) -> str:
    """All that a process prints that ends with this error."""
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    "address",
    [
        # Where the password ends cannot be told from where the address goes on.
        "postgresql://gang:sesame/x@db/gang",
        "postgresql://gang:sesame?x@db/gang",
        "postgresql://gang:sesame#x@db/gang",
        "redis://:12/sesame@redis:6379/0",
        "redis://:12?sesame@redis:6379/0",
        "redis://:12#sesame@redis:6379/0",
        "redis://redis:6379/0?password=ses@me",
        "redis://:[sesame@redis:6379/0",
        "redis://:sesame\t@redis/0",
        "redis://redis:sesame",
        "redis://redis:99999/sesame",
        # Not of a kind that is read here, which may be the secret itself.
        "",
        "sesame",
        "sesame://x",
        "sesame:x@redis/0",
        "//:sesame@redis/0",
        "mysql://gang:sesame@db/gang",
    ],
)
def test_an_unparsable_address_is_refused_and_not_printed(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv(NAME, address)
    with pytest.raises(SettingError, match=f"^{NAME} ") as caught:
        env.read_address(NAME, "redis://redis", "", schemes=("redis", "postgresql"))
    assert "sesame" not in error_text(caught.value)
    assert "ses@me" not in error_text(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "sqlite:////home/ann@example/gang.sqlite3",
        "sqlite:///C#/gang?.sqlite3",
        "redis+socket:///run/redis.sock?virtual_host=1",
        "redis://[fd00::1]:6379/0",
        "rediss://:p%40ss%2Fw@redis/0?ssl_cert_reqs=required",
        "postgresql://ann@example:p@ss@db/gang",
        "postgresql:///gang?host=/run/postgresql",
    ],
)
def test_a_valid_address_is_unchanged(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv(NAME, address)
    schemes = ("sqlite", "redis", "rediss", "redis+socket", "postgresql")
    assert env.read_address(NAME, "", "", schemes=schemes) == address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "cannot reach redis://:sesame@redis:6379/0.",
            "cannot reach redis://:(hidden)@redis:6379/0.",
        ),
        ("postgres://ann:s@s/e?m#e@db/gang", "postgres://ann:(hidden)@db/gang"),
        ("'a://:s1@h;a://:s2@k'", "'a://:(hidden)@k'"),
        (
            "https://h/x?a=b&password=sesame&sslmode=require: refused",
            "https://h/x?a=b&password=(hidden)&sslmode=require: refused",
        ),
        ("https://h/x?access_token=sesame", "https://h/x?access_token=(hidden)"),
        ("https://h/x?password=(hidden)", "https://h/x?password=(hidden)"),
        (
            "https://east.example:6443 asks ops@example.com",
            "https://east.example:6443 asks ops@example.com",
        ),
        ("https://h/x,redis://:sesame@k", "https://h/x,redis://:(hidden)@k"),
        ("10:30 ann@example.com", "10:30 ann@example.com"),
    ],
)
def test_passwords_are_removed_from_texts(text: str, expected: str) -> None:
    assert hide_passwords(text) == expected


def test_a_postgresql_url_is_parsed() -> None:
    result = database_settings("postgresql://us%40er:p%2Fw@db.example:5433/gang?sslmode=require")
    assert (result["USER"], result["PASSWORD"], result["HOST"], result["PORT"], result["NAME"]) == (
        "us@er",
        "p/w",
        "db.example",
        "5433",
        "gang",
    )
    assert result["OPTIONS"]["sslmode"] == "require"


@pytest.mark.parametrize(
    ("address", "expected"),
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
def test_passwords_are_hidden_completely(address: str, expected: str) -> None:
    assert hide_secrets(address) == expected
