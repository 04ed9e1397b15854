"""Commands on a database without gangboard's tables, or on none that answers: one sentence each."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.db import NotSupportedError

from gangboard.failures import exit_on_known_errors
from tests import migrated
from tests.commands import Commands

RunCommand = Callable[..., str]
COMMANDS = (
    ("add_cluster", "east", "--kubeconfig", "nowhere"),
    ("remove_cluster", "east"),
    ("create_user", "ann", "--role", "viewer"),
    ("create_token", "ann"),
    ("explain", "east/team/Job/train"),
    ("poll", "--once"),
    ("set_actor", "east", "--kubeconfig", "nowhere"),
    ("set_lever", "east", "parallelism", "on"),
    ("set_read_only", "on"),
)
SECONDS = 60.0


@pytest.fixture
def run_command(tmp_path: Path) -> Iterator[RunCommand]:
    """Run a failing command on a database URL and return its error."""
    processes: dict[str, Commands] = {}

    def run(*argv: str, url: str) -> str:
        environment = {
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": "gangboard.settings",
            "DATABASE_URL": url,
            "GANGBOARD_STATE": str(tmp_path),
        }
        process = processes.setdefault(url, Commands(environment, SECONDS))
        with pytest.raises(AssertionError) as caught:
            process.run(*argv)
        message = str(caught.value).removeprefix(f"manage.py {' '.join(argv)}: ")
        assert "Traceback" not in message
        assert "Error(" not in message  # how the process tells of an exception
        return message.strip()

    yield run
    for process in processes.values():
        process.close()


def test_a_database_without_tables_is_reported(run_command: RunCommand, tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "empty.sqlite3").close()
    for argv in COMMANDS:
        message = run_command(*argv, url=f"sqlite:///{tmp_path}/empty.sqlite3")
        assert "run `manage.py migrate` first" in message, argv


def test_a_file_that_is_no_database_is_reported(run_command: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text("This is no database, and longer than the header of SQLite. " * 9)
    for argv in (("set_read_only", "on"), ("migrate",)):
        (sentence,) = run_command(*argv, url=f"sqlite:///{file}").splitlines()
        assert f"The database {file} does not answer: file is not a database" in sentence


def test_an_unreachable_database_is_named_without_its_password(run_command: RunCommand) -> None:
    """Port 1 answers nobody."""
    url = "postgresql://gang:sesame@127.0.0.1:1/gangs"
    for argv in (("set_read_only", "on"), ("migrate",), ("up",)):
        (sentence,) = run_command(*argv, url=url).splitlines()
        assert "The database gangs on 127.0.0.1:1 does not answer: " in sentence
        assert "DATABASE_URL" in sentence
        assert "sesame" not in sentence


def test_a_database_of_a_prerelease_is_reported(run_command: RunCommand, tmp_path: Path) -> None:
    """It has had many migrations, of which the first has the name of the only one there is now."""
    file = tmp_path / "gangboard.sqlite3"
    migrated.copy_to(file)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('store', '0002_actions', '')"
        )
    for argv in (("migrate",), ("up",)):
        sentence = f"created before gangboard's first release, whose tables differ. Remove the file {file} or"
        assert sentence in run_command(*argv, url=f"sqlite:///{file}")


def test_an_outdated_server_is_reported_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """Django raises it from whichever check connects first."""
    with pytest.raises(SystemExit), exit_on_known_errors():
        raise NotSupportedError("PostgreSQL 14 or later is required (found 13.4).")
    assert capsys.readouterr().err == (
        "gangboard cannot go on: PostgreSQL 14 or later is required (found 13.4). Name a newer server in "
        "DATABASE_URL.\n"
    )
    with pytest.raises(NotSupportedError), exit_on_known_errors():
        raise NotSupportedError("contains lookup is not supported on this database backend.")
