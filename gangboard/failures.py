"""Startup errors that the operator can fix: one sentence on standard error instead of a traceback.

Each process that a person or a container starts uses this: `manage.py`, the Celery workers, the web server.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from django.conf import settings
from django.db import DatabaseError, Error, InterfaceError, NotSupportedError, OperationalError

from gangboard.addresses import hide_passwords
from gangboard.env import SettingError
from gangboard.logs import one_line

EXIT_CODE = 1
_DATABASE_ERRORS = (OperationalError, InterfaceError, DatabaseError)
"""The database does not answer, or is not a database. Their subclasses are defects of gangboard."""


@contextmanager
def exit_on_known_errors() -> Iterator[None]:
    """End the process with a sentence if a setting is invalid or the database does not answer.

    `--traceback` on the command line shows the traceback, as for Django's own command errors.
    """
    try:
        yield
    except SettingError as error:
        if "--traceback" in sys.argv:
            raise
        _exit_with(f"{error}.")
    except Error as error:
        is_told = type(error) in _DATABASE_ERRORS or is_too_old(error)
        if "--traceback" in sys.argv or not is_told:
            raise
        _exit_with(database_sentence(error))


def _exit_with(sentence: str) -> NoReturn:
    sys.stderr.write(hide_passwords(one_line(f"gangboard cannot go on: {sentence}")) + "\n")
    raise SystemExit(EXIT_CODE)


def is_too_old(error: Error) -> bool:
    """Return True if Django rejects the version of the database server."""
    return isinstance(error, NotSupportedError) and "or later is required" in str(error)


def database_sentence(error: Error) -> str:
    """Return one line that names the database, the error and the remedy, without a password."""
    reason = " ".join(str(error).split()).rstrip(".")
    if is_too_old(error):
        return f"{reason}. Name a newer server in DATABASE_URL."
    return (
        f"The database {_database_name()} does not answer: {reason}. "
        "Start or mend it, or name another one in DATABASE_URL."
    )


def _database_name() -> str:
    configured = settings.DATABASES["default"]
    if "sqlite" in configured["ENGINE"]:
        return str(configured["NAME"])
    host = configured["HOST"] or configured["OPTIONS"].get("host")
    if not host:
        return f"{configured['NAME']} on the local socket"
    return f"{configured['NAME']} on {host}:{configured['PORT'] or 5432}"
