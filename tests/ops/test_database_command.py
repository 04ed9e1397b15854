"""Commands on a database without gangboard's tables, or on none that answers."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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


def run(*argv: str, database: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as an admin would, on that SQLite file."""
    environment = {
        "PATH": os.environ["PATH"],
        "DATABASE_URL": f"sqlite:///{database}",
        "GANGBOARD_STATE": str(database.parent),
    }
    return subprocess.run(
        [sys.executable, "manage.py", *argv],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("argv", COMMANDS, ids=[argv[0] for argv in COMMANDS])
def test_a_database_without_tables(argv: tuple[str, ...], tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "empty.sqlite3").close()
    ended = run(*argv, database=tmp_path / "empty.sqlite3")
    assert ended.returncode == 1
    assert "run `manage.py migrate` first" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_database_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "a-folder").mkdir()
    ended = run("set_read_only", "on", database=tmp_path / "a-folder")
    assert ended.returncode == 1
    assert "The database does not answer: " in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("argv", [("migrate",), ("up",)], ids=["migrate", "up"])
def test_a_database_of_before_the_first_release(argv: tuple[str, ...], tmp_path: Path) -> None:
    """It has had many migrations, of which the first has the name of the only one there is now."""
    file = tmp_path / "gangboard.sqlite3"
    assert run("migrate", "--verbosity", "0", database=file).returncode == 0
    with closing(sqlite3.connect(file)) as database, database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('store', '0002_actions', '')"
        )
    ended = run(*argv, database=file)
    assert ended.returncode == 1
    sentence = (
        f"made before gangboard's first release, whose tables differ. Remove the file {file} or"
    )
    assert sentence in ended.stderr
    assert "Traceback" not in ended.stderr
