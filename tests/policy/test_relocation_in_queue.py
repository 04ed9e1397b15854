"""Relocations of Jobs in a queue: the requests, the quota, and the refusals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.action import (
    PolicyState,
)
from gangboard.domain.objects import Condition
from gangboard.domain.owner import Owner
from gangboard.domain.queue import AssignedNodes
from gangboard.facts.gang import Gang
from gangboard.policy.exclusions import Exclusion, write_exclusion
from tests.domain_objects import (
    a_job,
    an_entry,
)
from tests.gangs import a_gang
from tests.policy.test_relocation import (
    HOST,
    READY,
    a_node,
    a_run,
    around,
    planned,
    pods_on,
)


def a_queued_job(**fields: Any) -> tuple[Gang, Owner]:
    """A Job with an admitted Workload of its own."""
    job = a_job("alone", active_pods=2, queue="lq")
    values = {"admitted": True, "has_quota": True, "queue": "lq", **fields}
    return a_gang(job, entries=(an_entry(job, **values),)), job


def test_a_job_in_a_queue_moves_through_its_entry() -> None:
    gang, job = a_queued_job()
    pods = pods_on(job, "n0", "n0")
    surroundings = around(a_node("n0", free=0), a_node("n1"), pods=pods)
    levers = replace(READY, hold=PolicyState.MISSING)
    plan_ = planned(gang, job, surroundings, levers=levers)
    assert (plan_.allowed, plan_.lever) == (True, "kueue-exclusion"), plan_.why_not
    assert plan_.warnings == (
        "Its quota in queue lq is released while it is away: Kueue may admit others first, and then it waits.",
    )
    first, _, exclude, last = (json.loads(step.patch or "[]") for step in plan_.steps)
    uid = gang.entries[0].meta.ref.uid
    mark = {"gangboard.dev/action": "a-1"}
    assert first == [
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "test", "path": "/metadata/generation", "value": 1},
        {"op": "test", "path": "/metadata/annotations", "value": None},
        {"op": "add", "path": "/spec/active", "value": False},
        {"op": "add", "path": "/metadata/annotations", "value": mark},
    ]
    assert last == [
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "add", "path": "/spec/active", "value": True},
        {"op": "add", "path": "/metadata/annotations/gangboard.dev~1action", "value": "a-1"},
    ]
    # The Job has no annotations, so the patch adds the map, and tests that it is still missing.
    note = write_exclusion(Exclusion(HOST, ("n0",)))
    assert exclude[-2:] == [
        {"op": "test", "path": "/metadata/annotations", "value": None},
        {
            "op": "add",
            "path": "/metadata/annotations",
            "value": {**mark, "gangboard.dev/exclusion": note},
        },
    ]


def test_annotations_of_a_job_in_a_queue_stay() -> None:
    gang, job = a_queued_job()
    job = replace(job, meta=replace(job.meta, annotated=True))
    gang = replace(gang, owner=job)
    surroundings = around(a_node("n0", free=0), a_node("n1"), pods=pods_on(job, "n0", "n0"))
    operations = json.loads(planned(gang, job, surroundings).steps[2].patch)
    assert [operation["path"] for operation in operations[-2:]] == [
        "/metadata/annotations/gangboard.dev~1action",
        "/metadata/annotations/gangboard.dev~1exclusion",
    ]


@pytest.mark.parametrize(
    ("rivals", "end"),
    [
        (2, "2 waiting Workloads could be admitted before it."),
        (1, "1 waiting Workload could be admitted before it."),
        (0, "no other Workload waits for that quota now."),
    ],
)
def test_those_who_may_take_the_quota_are_counted(rivals: int, end: str) -> None:
    gang, job = a_queued_job()
    pods = pods_on(job, "n0", "n0")
    surroundings = around(a_node("n0", free=0), a_node("n1"), pods=pods, queue_rivals=rivals)
    plan_ = planned(gang, job, surroundings)
    assert plan_.warnings[0] == f"Its quota in queue lq is released while it is away: {end}"


def test_nodes_that_a_queue_chose_are_not_left_by_its_job() -> None:
    """Kueue would choose anew from its Workload, which lacks the exclusion (v0.19.2)."""
    gang, job = a_queued_job(assigned=(AssignedNodes("kueue.x-k8s.io/podset", "main", {"n0": 2}),))
    surroundings = around(a_node("n0", free=0), a_node("n1"), pods=pods_on(job, "n0", "n0"))
    assert (
        "Kueue pins new pods of Job alone to their former nodes"
        in planned(gang, job, surroundings).why_not
    )


def test_a_job_that_changes_its_size_in_a_queue_is_refused() -> None:
    gang, job = a_queued_job()
    (entry,) = gang.entries
    larger = an_entry(job, "job-alone-larger", replaces=entry.meta.ref.name)
    gang = replace(gang, entries=(entry, larger))
    surroundings = around(a_node("n0", free=0), a_node("n1"), pods=pods_on(job, "n0", "n0"))
    assert "Job alone has 2 Workloads of Kueue" in planned(gang, job, surroundings).why_not


@pytest.mark.parametrize(
    "fields",
    [
        {"active": False},
        {"admitted": False},
        {"conditions": (Condition("Evicted", "True", "Preempted"),)},
    ],
)
def test_a_job_that_kueue_is_stopping_is_refused(fields: Mapping[str, Any]) -> None:
    """A relocation would activate the Workload that another client has deactivated."""
    gang, job = a_queued_job(**fields)
    surroundings = around(a_node("n0", free=0), a_node("n1"), pods=pods_on(job, "n0", "n0"))
    assert planned(gang, job, surroundings).why_not == (
        "Workload job-alone-3f2a1 is not admitted now, so Kueue suspends Job alone: it has no pods to move."
    )


def test_a_child_job_with_an_entry_of_its_own_is_refused() -> None:
    gang, job, _ = a_run()
    gang = replace(gang, entries=(an_entry(job, admitted=True, has_quota=True),))
    surroundings = around(a_node("n0", free=0), a_node("n1"), pods=pods_on(job, "n0", "n0"))
    assert "Kueue would resume Job" in planned(gang, job, surroundings).why_not
