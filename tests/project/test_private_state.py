"""Local state is private to its owner, even after an older release or a copy left it open."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings

USE = """
import django; django.setup()
import gangboard.celery
from django.db import connection
connection.cursor().execute("CREATE TABLE IF NOT EXISTS t (x)")
connection.cursor().execute("INSERT INTO t VALUES (1)")
import os
from django.conf import settings
print(*sorted(
    f"{path.relative_to(settings.STATE_DIR)}:{path.stat().st_mode & 0o777:o}"
    for path in (settings.STATE_DIR, *settings.STATE_DIR.iterdir())
))
"""


def use(state: Path) -> dict[str, str]:
    """Use an installation from this folder and return the modes of its files."""
    done = subprocess.run(
        [sys.executable, "-c", f"import os; os.umask(0o022)\n{USE}"],
        cwd=settings.BASE_DIR,
        env={
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": "gangboard.settings",
            "GANGBOARD_STATE": str(state),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return dict(item.split(":") for item in done.stdout.split())


EXPECTED = {
    ".": "700",
    "broker": "700",
    "encryption_key": "600",
    "gangboard.sqlite3": "600",
    "gangboard.sqlite3-shm": "600",
    "gangboard.sqlite3-wal": "600",
    "secret_key": "600",
}


def test_a_new_folder_is_private(tmp_path: Path) -> None:
    assert use(tmp_path / "state") == EXPECTED


def test_an_open_folder_is_made_private(tmp_path: Path) -> None:
    state = tmp_path / "state"
    use(state)
    for path in (state, *state.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for name in ("gangboard.sqlite3-wal", "gangboard.sqlite3-shm"):
        (state / name).touch(mode=0o644)
    assert use(state) == EXPECTED
