"""Grace periods, and their cost of one read for each pod."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from gangboard.domain.owner import Dependency
from gangboard.domain.pod import Pod
from gangboard.facts.grace_periods import CREATION_GRACE, creation_due
from tests.domain_objects import NOW, a_jobset, a_role, child_jobs, pods_of
from tests.rules.evaluation import unit_of


class Counted(tuple[Pod, ...]):
    """Pods that count their inspections."""

    looks = 0

    def __iter__(self) -> Iterator[Pod]:
        for pod in super().__iter__():
            self.looks += 1
            yield pod


@pytest.mark.parametrize("number", [3, 300])
def test_each_pod_is_read_once_for_any_number_of_dependencies(number: int) -> None:
    jobset = a_jobset(
        "run",
        a_role("driver", jobs=number, pods=1),
        a_role("workers", pods=1, depends_on=(Dependency("driver", "Ready"),)),
    )
    *drivers, worker = child_jobs(jobset)
    pods = [pod for job in drivers for pod in pods_of(job, 1, on="n0")]
    unit = unit_of(
        jobset, *drivers, worker, *pods, jobs=(worker,), pods=(), roles=(jobset.roles[1],)
    )
    counted = Counted(unit.gang.pods)
    assert len(counted) == number
    facts = replace(unit.gang, pods=counted)
    counted.looks = 0
    due = creation_due(replace(unit, gang=facts))
    assert counted.looks == number
    ready = [pod.ready.since for pod in pods if pod.ready is not None and pod.ready.since]
    assert due is not None
    assert len(ready) == number
    assert max(ready) + CREATION_GRACE <= due <= NOW + CREATION_GRACE
