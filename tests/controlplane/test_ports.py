"""Ports that one lane has chosen are not chosen by another, whose processes are not there yet either."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import astuple
from pathlib import Path

from tests.controlplane.processes import _reserve, free_ports

_ASK = """
import sys
from tests.controlplane.processes import _reserve
print(*[_reserve(int(port)) for port in sys.argv[1:]])
"""


def test_a_port_is_chosen_by_one_process_only() -> None:
    chosen = astuple(free_ports())
    assert len(set(chosen)) == len(chosen)
    assert not any(map(_reserve, chosen))
    argv = [sys.executable, "-c", _ASK, *map(str, chosen), "19999"]
    root = Path(__file__).parents[2]
    for _ in range(2):  # the port of the first process is free again at its end
        done = subprocess.run(argv, cwd=root, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["False"] * len(chosen) + ["True"]
