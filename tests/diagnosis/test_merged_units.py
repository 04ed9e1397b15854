"""Workers without a group that wait beside each other: the verdict is about all of their pods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.merged_units import MAX_POD_KINDS
from gangboard.domain.capacity import ClusterCapacity, NodeInfo
from gangboard.domain.group import Group
from gangboard.domain.health import Health
from gangboard.domain.owner import Dependency, Owner, Role
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import PodConstraints
from gangboard.domain.verdict import UnitMemory, Verdict
from gangboard.facts.gang import Gang
from tests.domain_objects import (
    NOW,
    a_group,
    a_jobset,
    a_role,
    ago,
    child_jobs,
    facts_of,
    pods_of,
    requests,
)
from tests.rules.waiting_gangs import cpu_node

SHORT = "0/2 nodes are available: 2 Insufficient cpu."
HALF_FREE = (cpu_node("a", used=4), cpu_node("b", used=4))
"""Two nodes of 8 CPU with 4 free on each."""


def role(name: str = "cells", jobs: int = 2, cpu: str = "6", pods: int = 1) -> Role:
    return a_role(name, jobs=jobs, pods=pods, requests=requests(cpu=cpu))


def waiting(job: Owner, count: int | None = None, **fields: Any) -> tuple[Pod, ...]:
    """The pods of a Job, all refused."""
    return pods_of(job, job.parallelism if count is None else count, text=SHORT, **fields)  # type: ignore[arg-type] # a_job has one


def gang(
    *roles: Role,
    nodes: Sequence[NodeInfo] = HALF_FREE,
    pods: Sequence[Pod] | None = None,
    groups: Sequence[Group] = (),
    jobs: Sequence[Owner] | None = None,
    **fields: Any,
) -> Gang:
    """A JobSet all of whose pods are refused unless pods are given."""
    jobset = a_jobset("run", *roles)
    objects = child_jobs(jobset) if jobs is None else jobs
    result = [pod for job in objects for pod in waiting(job)] if pods is None else pods
    return facts_of(
        jobset,
        *objects,
        *result,
        *groups,
        **{"room": ClusterCapacity(tuple(nodes)), "kubernetes": (1, 37), **fields},
    )


def rows(verdict: Verdict) -> dict[str, str]:
    """The code of each Job's own finding."""
    return {job.ref.name: job.finding.code if job.finding else "" for job in verdict.jobs}


def test_the_verdict_counts_the_waiting_pods_of_all_jobs() -> None:
    """Each of two Jobs waits for 6 CPU where 4 and 4 are free."""
    verdict = assess(gang(role()))
    assert (verdict.finding.code, verdict.finding.health) == (
        "insufficient-resources",
        Health.WAITING,
    )
    assert verdict.finding.message == (
        "2 pods of 2 Jobs need 12 CPUs, and 8 are free on the 2 usable nodes, but no node "
        "has enough for one."
    )
    assert verdict.finding.unit == ""


def test_each_job_keeps_its_own_finding() -> None:
    verdict = assess(gang(role()))
    assert rows(verdict) == {"run-cells-0": "fragmented", "run-cells-1": "fragmented"}
    assert {finding.code for finding in verdict.findings} == {
        "insufficient-resources",
        "fragmented",
    }


def test_advice_is_about_the_whole() -> None:
    """2 CPU on one node would let one Job start, which is no advice for a gang of two."""
    verdict = assess(gang(role()))
    assert verdict.finding.advice_texts == (
        "Wait for 2 CPUs on each of the nodes a and b to become free: then both pods fit.",
    )
    assert [finding.advice_texts for finding in verdict.findings[1:]] == [()] * (
        len(verdict.findings) - 1
    )


def test_the_table_of_nodes_counts_them_together_too() -> None:
    """By itself each finds room on the free node; together only one of them does."""
    verdict = assess(gang(role(), nodes=(cpu_node("a"), cpu_node("b", used=8))))
    assert [(row.waiting, row.fits_now) for row in verdict.fit] == [(2, 1)]
    assert verdict.finding.code == "insufficient-resources"
    assert verdict.finding.message.endswith(": only 1 of 2 fits.")


def test_a_single_waiting_job_is_named() -> None:
    first, second = child_jobs(a_jobset("run", role()))
    result = gang(role(), pods=[*pods_of(first, 1, on="a"), *waiting(second)])
    verdict = assess(result)
    assert verdict.finding.code == "partly-placed"
    assert "Job run-cells-1: 1 pod needs" in verdict.finding.message


# Shapes that differ


def test_different_shapes_are_worked_out_together() -> None:
    """9 are needed of the 8 that are free, which neither Job alone would tell."""
    nodes = (cpu_node("a"), cpu_node("b", used=8))
    verdict = assess(gang(role("driver", 1, "3"), role("workers", 1, "6"), nodes=nodes))
    assert verdict.finding.code == "insufficient-resources"
    assert verdict.finding.message.startswith("2 pods of 2 Jobs need 9 CPUs, and 8 are free on ")


def test_different_shapes_can_lack_a_place_and_not_the_amount() -> None:
    """5 and 4 CPU where 8 and 2 are free: 9 of 10, and after one of them the other finds none."""
    nodes = (cpu_node("a"), cpu_node("b", used=6))
    verdict = assess(gang(role("driver", 1, "5"), role("workers", 1, "4"), nodes=nodes))
    assert verdict.finding.code == "fragmented"
    assert "2 pods of 2 Jobs" in verdict.finding.message


def test_a_job_that_no_node_can_host_is_the_cause() -> None:
    """The worst stays the verdict: it is blocked, the other only waits."""
    jobset = a_jobset("run", role("driver", 1, "1"), role("workers", 1, "6"))
    driver, workers = child_jobs(jobset)
    lost = PodConstraints(node_selector=(("pool", "h100"),))
    result = gang(*jobset.roles, pods=[*waiting(driver, needs=lost), *waiting(workers)])
    verdict = assess(result)
    assert (verdict.finding.code, verdict.finding.health) == ("no-matching-node", Health.BLOCKED)
    assert "run-driver-0" in verdict.finding.message
    assert rows(verdict) == {"run-driver-0": "no-matching-node", "run-workers-0": "fragmented"}


def test_undecidable_combinations_are_not_guessed() -> None:
    """The arithmetic does not cover volumes. By the amounts both fit, so the result is unknown."""
    unclear = PodConstraints(unsupported=("volumes",))
    jobset = a_jobset("run", role(cpu="1"))
    pods = [pod for job in child_jobs(jobset) for pod in waiting(job, needs=unclear)]
    verdict = assess(gang(role(cpu="1"), pods=pods))
    assert [(finding.code, finding.unit) for finding in verdict.findings] == [
        ("unschedulable", "run-cells-0"),
        ("unschedulable", "run-cells-1"),
    ]
    assert "cannot tell why" in verdict.finding.message


def test_a_shortage_is_reported_despite_uncomputed_constraints() -> None:
    unclear = PodConstraints(unsupported=("volumes",))
    pods = [
        pod for job in child_jobs(a_jobset("run", role())) for pod in waiting(job, needs=unclear)
    ]
    assert assess(gang(role(), pods=pods)).finding.code == "insufficient-resources"


def test_too_many_shapes_are_not_searched_together() -> None:
    roles = [role(f"p{index}", 1, f"5.{index + 1:02}") for index in range(MAX_POD_KINDS + 1)]
    verdict = assess(gang(*roles))
    assert {finding.code for finding in verdict.findings} == {"fragmented"}
    assert assess(gang(*roles[:2])).finding.code == "insufficient-resources"


FREE = st.lists(st.integers(0, 8), min_size=1, max_size=3)
ASKED = st.lists(st.integers(1, 9), min_size=2, max_size=4)


def have_room(free: Sequence[int], requested: Sequence[int]) -> bool:
    """Whether all of them find a place, by trying every way."""
    for places in product(range(len(free)), repeat=len(requested)):
        taken = [0] * len(free)
        for place, cpus in zip(places, requested, strict=True):
            taken[place] += cpus
        if all(here <= existing for here, existing in zip(taken, free, strict=True)):
            return True
    return False


@given(FREE, ASKED)
def test_the_code_is_that_of_all_pods_tried_in_every_way(free: list[int], asked: list[int]) -> None:
    """Jobs of one pod each, on nodes of 8 CPUs."""
    nodes = [cpu_node(f"n{index}", used=8 - left) for index, left in enumerate(free)]
    roles = [role(f"p{index}", 1, str(cpus)) for index, cpus in enumerate(asked)]
    code = assess(gang(*roles, nodes=nodes)).finding.code
    if have_room(free, asked):
        assert code == "unschedulable"
    elif max(asked) > 8:
        assert code == "no-matching-node"
    elif not have_room([8] * len(free), asked):
        assert code == "exceeds-capacity"
    else:
        assert code == ("insufficient-resources" if sum(asked) > sum(free) else "fragmented")


# Jobs in the sum


def test_pods_with_a_node_are_not_in_the_sum() -> None:
    """One of the four pods of two Jobs has a node. The other three ask for 9 CPU."""
    first, second = child_jobs(a_jobset("run", role(pods=2, cpu="3")))
    placed, late = pods_of(first, 2)
    pods = [
        replace(placed, node="a", phase="Running"),
        replace(late, scheduled=waiting(first)[1].scheduled),
        *waiting(second),
    ]
    nodes = (cpu_node("a", used=5), cpu_node("b", used=6))
    verdict = assess(gang(role(pods=2, cpu="3"), pods=pods, nodes=nodes))
    assert verdict.finding.code == "partly-placed"
    assert verdict.finding.message.startswith("3 pods of 2 Jobs need 9 CPUs, and 5 are free on ")
    assert verdict.finding.message.endswith("; 1 of 4 pods is placed.")


def test_running_jobs_use_capacity_and_count_as_placed() -> None:
    jobset = a_jobset("run", role(jobs=3))
    first, *rest = child_jobs(jobset)
    pods = [*pods_of(first, 1, on="c"), *(pod for job in rest for pod in waiting(job))]
    verdict = assess(gang(role(jobs=3), pods=pods, nodes=(*HALF_FREE, cpu_node("c", used=6))))
    assert verdict.finding.code == "partly-placed"
    assert "1 of 3 pods" in verdict.finding.message
    assert (
        "2 pods of 2 Jobs need 12 CPUs, and 10 are free on the 3 usable nodes"
        in verdict.finding.message
    )


@pytest.mark.parametrize("state", ["held", "gated", "depends"])
def test_jobs_that_need_no_node_now_are_excluded(state: str) -> None:
    """Three Jobs, of which one is held, has gated pods, or comes after the others."""
    later = replace(role("later", 1), depends_on=(Dependency("cells", "Ready"),))
    roles = (role(), later) if state == "depends" else (role(jobs=3),)
    *rest, last = child_jobs(a_jobset("run", *roles))
    pods = [pod for job in rest for pod in waiting(job)]
    if state == "held":
        last = replace(last, suspended=True)
    if state == "gated":
        pods += pods_of(last, 1, gates=("example.com/later",))
    jobs = rest if state == "depends" else [*rest, last]
    verdict = assess(gang(*roles, jobs=jobs, pods=pods))
    assert "2 pods of 2 Jobs need 12 CPUs" in verdict.finding.message


def test_unattempted_pods_need_a_node() -> None:
    """They ask for the same room, and may get it before the others."""
    roles = role(jobs=3)
    *rest, last = child_jobs(a_jobset("run", roles))
    pods = [*(pod for job in rest for pod in waiting(job)), *pods_of(last, 1, created_at=ago(2))]
    assert "3 pods of 3 Jobs need 18 CPUs" in assess(gang(roles, pods=pods)).finding.message


def test_basic_groups_do_not_keep_pods_together() -> None:
    """1.37 makes one of every Job: their pods are placed one by one all the same."""
    jobs = child_jobs(a_jobset("run", role()))
    groups = [a_group(f"{job.meta.ref.name}-g", of=job) for job in jobs]
    pods = [
        pod
        for job, group in zip(jobs, groups, strict=True)
        for pod in waiting(job, group=group.name)
    ]
    verdict = assess(gang(role(), pods=pods, groups=groups))
    assert verdict.finding.code == "insufficient-resources"
    assert verdict.finding.message.startswith("2 pods of 2 Jobs need 12 CPUs")


def test_groups_with_a_quorum_are_judged_separately() -> None:
    jobs = child_jobs(a_jobset("run", role(pods=2)))
    groups = [a_group(f"{job.meta.ref.name}-g", quorum=2, of=job) for job in jobs]
    pods = [
        pod
        for job, group in zip(jobs, groups, strict=True)
        for pod in waiting(job, group=group.name)
    ]
    verdict = assess(gang(role(pods=2), pods=pods, groups=groups))
    assert "2 pods need 12 CPUs" in verdict.finding.message


# After a loss


def test_a_loss_stays_the_verdict_with_the_cause_of_all_waiting_jobs() -> None:
    """Three cells ran; two were lost, and each of these needs 6 CPU where 4 and 4 are free."""
    roles = role(jobs=3)
    first, *lost = child_jobs(a_jobset("run", roles))
    pods = [*pods_of(first, 1, on="c"), *(pod for job in lost for pod in waiting(job))]
    memory = {
        job.meta.ref.name: UnitMemory(created_since=ago(300), whole_at=ago(60), whole_count=1)
        for job in lost
    }
    result = gang(
        roles, pods=pods, nodes=(*HALF_FREE, cpu_node("c", used=8)), memory=memory, now=NOW
    )
    verdict = assess(result)
    assert verdict.finding.code == "lost-members"
    assert "2 pods of 2 Jobs need 12 CPUs, and 8 are free" in verdict.finding.message
    assert verdict.findings[1].code == "partly-placed"


# Advice about the size


def test_a_jobset_is_reduced_to_the_jobs_that_fit() -> None:
    """Three Jobs wait, and two of them fit on the free nodes."""
    full = (cpu_node("a"), cpu_node("b"), cpu_node("c", used=8))
    verdict = assess(gang(role(jobs=3), nodes=full))
    assert (
        "Lower the replicas of replicatedJobs[cells] of JobSet run from 3 to 2: that many fit now "
        "(needs re-creating)." in verdict.finding.advice_texts
    )
