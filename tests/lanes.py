"""A pytest plugin: which tests of a run go side by side (`pytest -n 3 --dist loadscope`).

A lane is a process of pytest-xdist that takes one piece of work after the other. A piece is a file of
tests, or all files of one line of `WAITING`, which use the same control planes: so these are started in
one lane only. What runs beside a test (control planes, a whole gangboard) costs processor time for as
long as it runs, so no more of it goes on at once than two cores can carry: all lanes but one begin with
the first of `WAITING`, the last lane with the other end, which only computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

WAITING: tuple[Sequence[str], ...] = (
    (
        "acting/",
        "agreement/",
        "controlplane/",
        "contract/",
        "permissions/",
        "decode/test_admission_policies.py",
        "decode/test_what_a_scheduler_counts.py",
        "kube/test_write_client_real.py",
        "placement/test_ways.py",
        "rules/test_steps_taken.py",
    ),
    ("scenarios/",),
    ("web/test_browser.py",),
    ("live/",),
    ("web/test_acting_browser.py",),
    ("fresh_clone/",),
)
"""Pieces of work that wait for others more than they compute, in the order in which they begin."""

_HERE = Path(__file__).parent


class LaneScheduling(LoadScopeScheduling):
    """Gives a lane one piece of work at a time."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        number = _number(file.removeprefix("tests/"))
        return file if number == len(WAITING) else WAITING[number][0]

    def _assign_work_unit(self, node: WorkerController) -> None:
        if node is self.nodes[-1] and len(self.nodes) > 1:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LaneScheduling:
    """Called by pytest-xdist."""
    config.option.loadscopereorder = False  # our order is by what takes long, not by numbers
    return LaneScheduling(config, log)


def place_in_lanes(item: pytest.Item) -> int:
    """Return a number to sort by: pieces that wait go first, in their order.

    Raises `pytest.UsageError` for a test that uses a control plane and is in none of them.
    """
    file = item.path.relative_to(_HERE).as_posix()
    number = _number(file)
    if number == len(WAITING) and item.get_closest_marker("controlplane"):
        raise pytest.UsageError(f"{file} uses a control plane: say in tests/lanes.py with which")
    return number


def _number(file: str) -> int:
    places = (n for n, prefixes in enumerate(WAITING) if file.startswith(tuple(prefixes)))
    return next(places, len(WAITING))
