"""Matching and sending once more, on a real PostgreSQL: they lock rows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.services
def test_messages_work_on_postgresql(postgres_url: str) -> None:
    files = ("test_matching", "test_delivery", "test_holds_and_actions")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-m", "not services", "-k", "not 5000"),
            *(f"tests/notify/{name}.py" for name in files),
        ],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": postgres_url, "CI": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
