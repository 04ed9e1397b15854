"""Action safety, S1 and S14: concurrent clicks and workers on real databases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.live.figures import tell
from tests.separate_process import run_python


def played(folder: Path, database_url: str = "") -> dict[str, Any]:
    printed = run_python("-m", "tests.actions.at_once", database_url=database_url, folder=folder)
    figures: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return figures


def judge(figures: dict[str, Any], database: str) -> None:
    # S1: 20 clicks with one key are one action, and 20 with other keys find it in the way; with 20
    # workers at it, each step is sent once.
    assert (figures["actions"], figures["made"], figures["ids"]) == (1, 1, 1)
    assert (figures["busy"], figures["requested"]) == (20, 1)
    assert (figures["creates"], figures["patches"], figures["state"]) == (1, 1, "verified")
    # S14: one of two opposite clicks is accepted and the other is refused with its name. No action
    # is lost.
    assert (figures["ended"], figures["named"]) == (figures["rounds"], figures["rounds"])
    assert (figures["lost"], figures["extra"]) == (0, 0)
    tell(
        f"S1 {database}: 40 clicks at once, 20 workers: actions {figures['actions']}, Holds created "
        f"{figures['creates']}, PATCH {figures['patches']}"
    )
    tell(f"S14 {database}: {figures['rounds']} pairs of opposite clicks: lost {figures['lost']}")


def test_s01_s14_on_sqlite(tmp_path: Path) -> None:
    judge(played(tmp_path), "SQLite")


@pytest.mark.services
def test_s01_s14_on_postgresql(postgres_url: str, tmp_path: Path) -> None:
    judge(played(tmp_path, postgres_url), "PostgreSQL")
