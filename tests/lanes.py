"""A pytest plugin that schedules tests in parallel lanes (`pytest -n 4 --dist loadscope`).

A lane is a process of pytest-xdist that takes one piece of work after the other. A piece is a file of tests, or
all files of one line of `WAITING`, which use the same control planes: so only one lane starts them. Processes
beside a test (control planes, a whole gangboard) need processor time while they run, so their number is limited
to what two cores can carry: `WAITING_LANES` begin with the first of `WAITING`, the others with the other end,
which only computes. These also wait at times, so two of them keep both cores busy. Time measurements run last.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

WAITING: tuple[Sequence[str], ...] = (
    (
        "acting/",
        "permissions/",
        "decode/test_admission_policies.py",
        "kube/test_write_client_real.py",
    ),
    (
        "controlplane/",
        "agreement/",
        "contract/",
        "decode/test_what_a_scheduler_counts.py",
        "groups/test_real_",
        "owners/test_real_grove.py",
        "placement/test_change_methods.py",
        "rules/test_steps_taken.py",
    ),
    (
        "queues/test_real_",
        "controlplane/test_copied_commands.py",
        "controlplane/test_creates.py",
        "controlplane/checks/",
        "controlplane/forecasts/",
        "controlplane/test_kueue.py",
        "controlplane/test_leaderworkerset.py",
        "controlplane/test_manifest_faults.py",
        "owners/test_mixed_cluster.py",
        "owners/test_real_",
    ),
    ("scenarios/",),
    ("live/test_workers.py", "live/test_signs_of_life.py"),
    ("web/test_browser.py",),
    ("live/",),
    ("web/test_acting_browser.py", "web/test_dialog_focus_browser.py"),
    ("ops/test_up.py", "ops/test_commands.py"),
    ("web/test_on_postgresql.py", "store/test_people_at_once.py"),
    ("store/test_from_release.py", "store/test_audit.py", "store/test_feed.py"),
    ("actions/test_one_hangs.py", "actions/test_safety_at_once.py"),
    ("chart/",),
    ("attack/",),
    ("fresh_clone/",),
    ("tasks/",),
    ("store/test_on_postgresql.py",),
    ("production/",),
)
"""Pieces of work that wait for others more than they compute, in starting order.

Lanes take them from both ends, so the shortest pieces stand where the ends meet: below `live/`. The first
lane goes on with what needs Kueue, whose control plane it has from the first piece.
"""

WAITING_LANES = 2

_HERE = Path(__file__).parent


class LaneScheduling(LoadScopeScheduling):
    """Gives a lane one piece of work at a time."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return _work_unit_of(file.removeprefix("tests/"))

    def _assign_work_unit(self, node: WorkerController) -> None:
        segments = list(self.workqueue)
        computes = self.nodes.index(node) >= WAITING_LANES
        self.workqueue.move_to_end(segments[-1] if computes else segments[0], last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LaneScheduling:
    """Called by pytest-xdist."""
    config.option.loadscopereorder = False  # our order is by what takes long, not by numbers
    return LaneScheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Make each lane import its share of all files first.

    pytest rewrites the assertions of a file at its first import and caches the result for later imports. In a
    new clone each lane would rewrite every file, the longest part of collection.
    """
    lane = getattr(session.config, "workerinput", None)
    if lane is not None and session.config.args == ["tests"]:
        files = sorted(_HERE.rglob("test_*.py"))
        for file in files[int(lane["workerid"].removeprefix("gw")) :: lane["workercount"]]:
            import_module(".".join(file.relative_to(_HERE.parent).with_suffix("").parts))


def is_lane(config: pytest.Config) -> bool:
    """Return whether this process is a lane of a run, not the one that tells of it."""
    return hasattr(config, "workerinput")


def place_in_lanes(item: pytest.Item) -> int:
    """Return a sort key that puts waiting work units first, in their order.

    Raises `pytest.UsageError` for a test that uses a control plane outside of these units.
    """
    file = item.path.relative_to(_HERE).as_posix()
    segment = _work_unit_of(file)
    if segment == f"tests/{file}" and item.get_closest_marker("controlplane"):
        raise pytest.UsageError(f"{file} uses a control plane: say in tests/lanes.py with which")
    firsts = [prefixes[0] for prefixes in WAITING]
    return firsts.index(segment) if segment in firsts else len(firsts)


@cache
def _work_unit_of(file: str) -> str:
    """Return the name of the piece of work of a file below tests/: what names more of its path decides."""
    named = {
        prefix: prefixes[0]
        for prefixes in WAITING
        for prefix in prefixes
        if file.startswith(prefix)
    }
    return named[max(named, key=len)] if named else f"tests/{file}"
