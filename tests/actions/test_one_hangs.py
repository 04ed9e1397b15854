"""A hanging cluster delays neither actions on other clusters, nor proofs, nor the sweep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.separate_process import run_python


def played(folder: Path, database_url: str = "") -> dict[str, Any]:
    printed = run_python(
        "-m",
        "tests.actions.one_hangs",
        database_url=database_url,
        folder=folder,
        log_level="ERROR",
    )
    figures: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return figures


def judge(figures: dict[str, Any]) -> None:
    # All of this happens while every call to the other cluster still waits.
    assert figures["given_up"] == 0
    assert figures["state"] == "verified"
    assert figures["swept"]
    assert figures["proved"] == 1
    # Three Holds and ten sweeps cause one try. Forty clicks cause as many as half of the threads.
    assert (figures["proofs"], figures["writes"]) == (1, 8)


def test_a_hanging_cluster_does_not_delay_others_on_sqlite(tmp_path: Path) -> None:
    judge(played(tmp_path))


@pytest.mark.services
def test_a_hanging_cluster_does_not_delay_others_on_postgresql(
    postgres_url: str, tmp_path: Path
) -> None:
    judge(played(tmp_path, postgres_url))
