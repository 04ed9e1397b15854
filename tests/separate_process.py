"""Code of a test in a process of its own, where each thread has a real connection to a real database."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings

from tests import migrated

MOST_SECONDS = 240.0


def run_python(
    *arguments: str, folder: Path, database_url: str = "", log_level: str = "ERROR"
) -> str:
    """Run Python with these arguments on a migrated database and return its output.

    `folder` holds its state, and the database if no other one is given. Raises AssertionError with its errors.
    """
    database = folder / "separate.sqlite3"
    if not database_url and not database.exists():
        migrated.copy_to(database)
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=settings.BASE_DIR,
        env={
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": "gangboard.settings",
            "GANGBOARD_STATE": str(folder / "state"),
            "GANGBOARD_LOG_LEVEL": log_level,
            "DATABASE_URL": database_url or f"sqlite:///{database}",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=MOST_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
