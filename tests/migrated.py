"""An empty migrated database, created once per process and copied on request."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent


def copy_to(database: Path) -> None:
    """Write the file of such a database, as `manage.py migrate` makes it on SQLite."""
    database.write_bytes(_migrated_database())


def migrate(database_url: str) -> None:
    """Create gangboard's tables in a database."""
    command = ["manage.py", "migrate", "--verbosity", "0", "--skip-checks"]
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "DATABASE_URL": database_url,
            "GANGBOARD_STATE": folder,
            "DJANGO_SETTINGS_MODULE": "gangboard.settings",
        }
        subprocess.run([sys.executable, *command], cwd=_ROOT, env=environment, check=True)


@cache
def _migrated_database() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "migrated.sqlite3"
        migrate(f"sqlite:///{file}")
        with sqlite3.connect(file) as connection:
            created = connection.serialize()
        connection.close()
    return created
