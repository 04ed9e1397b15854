"""Poll workers that stop, die and come back: who holds a cluster, and that nothing is lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from gangboard.simulator import Simulator
from tests.installation import Installation
from tests.live.poll_worker import Database, Worker

pytestmark = pytest.mark.slow

LEASE_SECONDS = 15.0
TAKE_OVER_SECONDS = 5.0
"""Beyond the lease: to notice, to order and to read."""
WINDOW_SECONDS = 10.0
FLEETS = {"east": "east", "west": "west"}


@dataclass
class Scene:
    """Two simulated clusters, a gangboard with one poll worker, and a second one."""

    installation: Installation
    database: Database
    simulators: dict[str, Simulator]
    first: Worker
    second: Worker
    orders: list[float] = field(default_factory=list)

    def holders(self) -> set[str]:
        return {lease.holder for lease in self.database.leases().values()}

    def holder(self) -> Worker:
        """Return the worker that holds all clusters."""
        (name,) = self.holders()
        return next(worker for worker in (self.first, self.second) if worker.holder == name)

    def gangs(self) -> list[tuple[str, ...]]:
        """Return every gang with its verdict, as the API says."""
        keys = ("cluster", "namespace", "api_group", "kind", "name", "uid", "code")
        return sorted(tuple(str(gang[key]) for key in keys) for gang in self.installation.gangs())

    def suspend(self, cluster: str, suspend: bool) -> int:
        """Suspend or resume the chosen Job of a cluster; return its resourceVersion."""

        def change(found: dict[str, Any]) -> None:
            found["spec"]["suspend"] = suspend

        name, namespace = self.job(cluster)
        made = self.simulators[cluster].objects.update("batch/v1", "Job", name, change, namespace)
        return int(made["metadata"]["resourceVersion"])

    def job(self, cluster: str) -> tuple[str, str]:
        """Return name and namespace of a Job of its own that runs (or was suspended by us)."""
        return JOBS[cluster]

    def code(self, cluster: str) -> str:
        """Return what the API says of the chosen Job."""
        name, namespace = self.job(cluster)
        found = [
            gang["code"]
            for gang in self.installation.gangs(cluster=cluster, namespace=namespace, kind="Job")
            if gang["name"] == name
        ]
        assert len(found) == 1, found
        return str(found[0])


JOBS = {"east": ("", ""), "west": ("", "")}
