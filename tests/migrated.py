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


@cache
def _migrated_database() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "migrated.sqlite3"
        environment = {
            **os.environ,
            "DATABASE_URL": f"sqlite:///{file}",
            "GANGBOARD_STATE": folder,
            "DJANGO_SETTINGS_MODULE": "gangboard.settings",
        }
        migrate = ["manage.py", "migrate", "--verbosity", "0", "--skip-checks"]
        subprocess.run([sys.executable, *migrate], cwd=_ROOT, env=environment, check=True)
        with sqlite3.connect(file) as connection:
            created = connection.serialize()
        connection.close()
    return created
