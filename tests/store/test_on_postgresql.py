"""The tests of the store and the read models once more, on a real PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.services
@pytest.mark.parametrize("room", ["store", "readmodels"])
def test_the_store_works_on_postgresql(postgres_url: str, room: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "not services", f"tests/{room}"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": postgres_url, "CI": ""},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
