"""Parsing of `DATABASE_URL` into Django's database settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from gangboard.env import SettingError, restrict_to_owner

SCHEMES = ("sqlite", "postgres", "postgresql")
"""Valid schemes of a database URL."""
SESSION_OPTIONS = "-c idle_in_transaction_session_timeout=10s"
"""PostgreSQL settings of each session. `options=` in the query of the address replaces them.

A worker that stops inside a transaction must not lock its lease row for longer than the lease lasts, because
the next holder would wait for it.
"""
_SILENCE_SECONDS = 10
"""Seconds of silence after which the kernel closes the connection. Its default is 15 minutes."""


def database_settings(url: str) -> dict[str, Any]:
    """Return Django's settings for `sqlite:///PATH` or `postgresql://user:password@host:port/name`.

    `read_address` has accepted the address with `SCHEMES`. SQLite gets a write-ahead log, a patience of 20 s,
    and transactions that take the write lock at once. So two writers wait for each other instead of failing
    half-way. Raises SettingError.
    """
    address = urlsplit(url)
    if address.scheme == "sqlite":
        path = unquote(address.path).removeprefix("/")
        if not path:
            raise SettingError("DATABASE_URL names no file: write sqlite:///PATH")
        file = Path(path).expanduser().resolve()
        _create_private_file(file)
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(file),
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            },
        }
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(address.path).lstrip("/"),
        "USER": unquote(address.username or ""),
        "PASSWORD": unquote(address.password or ""),
        "HOST": unquote(address.hostname or ""),
        "PORT": str(address.port or ""),
        "OPTIONS": {
            "connect_timeout": 5,
            "keepalives_idle": _SILENCE_SECONDS,
            "keepalives_interval": 5,
            "tcp_user_timeout": _SILENCE_SECONDS * 1000,
            "options": SESSION_OPTIONS,
            **dict(parse_qsl(address.query, keep_blank_values=True)),
        },
    }


def _create_private_file(file: Path) -> None:
    """Create the database file and its folder with access for the owner only."""
    if file.exists() and not file.is_file():
        raise SettingError(f"DATABASE_URL names {file}, which is not a file")
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # SQLite gives the write-ahead log and its index the permissions of the file.
        file.touch(mode=0o600)
    except OSError as error:
        raise SettingError(
            f"the database file {file} cannot be created or opened: {error.strerror}. Name another one in "
            "DATABASE_URL (sqlite:///PATH), or another folder in GANGBOARD_STATE"
        ) from error
    for suffix in ("", "-wal", "-shm"):
        restrict_to_owner(file.with_name(file.name + suffix))
