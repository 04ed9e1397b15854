"""S1 and S14: many clicks and many workers at the same moment, on real databases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from tests.live.figures import tell


def played(database_url: str, folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.actions.at_once"],
        cwd=settings.BASE_DIR,
        env={
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": "gangboard.settings",
            "GANGBOARD_STATE": str(folder / "state"),
            "GANGBOARD_LOG_LEVEL": "ERROR",
            "DATABASE_URL": database_url,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def judge(found: dict[str, Any], where: str) -> None:
    # S1: 20 clicks with one key are one action, and 20 with other keys find it in the way; with 20
    # workers at it, each step is sent once.
    assert (found["actions"], found["made"], found["ids"]) == (1, 1, 1)
    assert (found["busy"], found["requested"]) == (20, 1)
    assert (found["creates"], found["patches"], found["state"]) == (1, 1, "verified")
    # S14: of two opposite clicks one is taken and the other is told which; nothing is lost.
    assert (found["ended"], found["named"]) == (found["rounds"], found["rounds"])
    assert (found["lost"], found["extra"]) == (0, 0)
    tell(
        f"S1 {where}: 40 clicks at once, 20 workers: actions {found['actions']}, Holds created "
        f"{found['creates']}, PATCH {found['patches']}"
    )
    tell(f"S14 {where}: {found['rounds']} pairs of opposite clicks: lost {found['lost']}")


def test_s01_s14_on_sqlite(tmp_path: Path) -> None:
    judge(played(f"sqlite:///{tmp_path}/db.sqlite3", tmp_path), "SQLite")


@pytest.mark.services
def test_s01_s14_on_postgresql(postgres_url: str, tmp_path: Path) -> None:
    judge(played(postgres_url, tmp_path), "PostgreSQL")
