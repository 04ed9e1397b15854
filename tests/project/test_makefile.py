"""The environment that `make` uses: its own, or that of another checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
@pytest.mark.parametrize(("linked", "renewed"), [(True, False), (False, True)])
def test_a_linked_environment_is_not_renewed(tmp_path: Path, linked: bool, renewed: bool) -> None:
    """`python -m venv` fails on a link. Here the requirements are newer than the environment."""
    venv = tmp_path / ("other" if linked else ".venv")
    venv.mkdir()
    (venv / ".made").touch()
    os.utime(venv / ".made", (0, 0))
    if linked:
        (tmp_path / ".venv").symlink_to(venv)
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    printed = subprocess.run(
        ["make", "--dry-run", "clientschema"],  # found on the PATH
        cwd=tmp_path,
        env={key: value for key, value in os.environ.items() if not key.startswith("MAKE")},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    assert ("-m venv .venv" in printed) is renewed
    assert "tools.client_schema" in printed
