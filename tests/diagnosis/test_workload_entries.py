"""Gangs of Kubernetes 1.35: their groups are entries of Workloads and have no object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.gang_units import units_of
from gangboard.diagnosis.members import member_states
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.group import Policy, WorkloadEntry, label_of_group, read_entry
from gangboard.domain.objects import Condition
from gangboard.domain.pod import Pod
from gangboard.facts.gang import Gang
from gangboard.facts.unit import Unit
from tests.domain_objects import (
    NOW,
    Made,
    a_condition,
    a_group,
    a_job,
    a_plan,
    a_pod,
    a_workload,
    ago,
    pods_of,
)
from tests.gangs import assemble


def gang(root: Made, *objects: Made, **fields: Any) -> Gang:
    return assemble(root, objects, **{"now": NOW, "gang_api_version": "v1alpha1", **fields})  # type: ignore[arg-type]


def the_units(*objects: Any, **fields: Any) -> dict[str, Unit]:
    return {unit.name: unit for unit in units_of(gang(*objects, **fields))}


def uids(*items: Made) -> set[str]:
    return {obj.meta.ref.uid for obj in items}


def bare(number: int, group: str, name: str = "ring", **fields: Any) -> tuple[Pod, ...]:
    return tuple(a_pod(f"{name}-{index}", group=group, **fields) for index in range(number))


# Names


def test_a_name_has_workload_entry_and_replica() -> None:
    complete, keyed = WorkloadEntry("plan", "workers"), WorkloadEntry("plan", "workers", "0")
    assert (complete.name, keyed.name) == ("plan/workers", "plan/workers/0")
    assert (read_entry("plan/workers"), read_entry("plan/workers/0")) == (complete, keyed)
    assert read_entry("ring") is None
    assert label_of_group("ring") == "PodGroup ring"
    assert label_of_group("plan/workers") == "podGroup workers of Workload plan"
    assert label_of_group("plan/workers/0") == "replica 0 of podGroup workers of Workload plan"


# Ownership graph

PLAN = a_plan()


def graph_of(*objects: Made) -> OwnershipGraph:
    graph = OwnershipGraph()
    for obj in objects:
        graph.put(obj)
    return graph


def test_bare_pods_are_a_gang_with_their_workload() -> None:
    pods = bare(2, "plan/workers")
    graph = graph_of(*pods)
    assert graph.roots() == uids(*pods)  # the Workload does not exist yet
    assert graph.put(PLAN) == uids(PLAN, *pods)
    assert graph.roots() == uids(PLAN)
    assert set(graph.members(PLAN.meta.ref.uid)) == uids(PLAN, *pods)
    assert graph.remove(PLAN.meta.ref.uid) == uids(PLAN, *pods)


def test_a_missing_entry_still_leads_to_the_workload() -> None:
    pods = bare(2, "plan/driver")
    assert graph_of(PLAN, *pods).roots() == uids(PLAN)


def test_a_workload_with_owned_pods_is_shown_with_the_owner() -> None:
    job = a_job("train", group_name="plan/workers")
    graph = graph_of(PLAN, job)
    assert graph.roots() == uids(job)
    pods = pods_of(job, 2)
    for pod in pods:
        graph.put(pod)
    assert set(graph.members(job.meta.ref.uid)) == uids(job, PLAN, *pods)


def test_a_newer_minor_is_not_read_so() -> None:
    workload = a_workload("plan", quorum=2)  # v1beta1: pods name PodGroups
    pods = bare(2, "plan/workers")
    assert graph_of(workload, *pods).roots() == uids(workload, *pods)


def test_strangers_share_the_replica_and_not_only_the_workload() -> None:
    obj = a_job("one", group_name="plan/workers/0")
    two = a_job("two", group_name="plan/workers/0")
    apart = a_job("apart", group_name="plan/workers/1")
    pods = {job.meta.ref.name: pods_of(job, 1) for job in (obj, two, apart)}
    graph = graph_of(PLAN, obj, two, apart, *(pod for result in pods.values() for pod in result))
    assert set(graph.foreign_pods(obj.meta.ref.uid)) == uids(*pods["two"])
    assert graph.foreign_pods(apart.meta.ref.uid) == ()
    # A pod that starts to run does not touch pods of another replica.
    (pod,) = pods["two"]
    assert graph.put(replace(pod, phase="Running", node="n0")) == uids(obj, two)


# Units


def test_bare_pods_are_one_unit_with_the_policy_of_the_entry() -> None:
    pods = bare(3, "plan/workers")
    (unit,) = the_units(PLAN, *pods).values()
    assert (unit.name, unit.noun, unit.desired, unit.quorum) == ("plan/workers", "group", 3, 2)
    assert unit.group is not None
    assert (unit.group.meta, unit.group.policy) == (PLAN.meta, Policy.GANG)
    assert (unit.group.workload_name, unit.group.template_name) == ("plan", "workers")


def test_replica_keys_divide_one_entry() -> None:
    pods = (*bare(2, "plan/workers/0", "a"), *bare(1, "plan/workers/1", "b"))
    units = the_units(PLAN, *pods)
    assert {name: (unit.desired, unit.quorum, len(unit.pods)) for name, unit in units.items()} == {
        "plan/workers/0": (2, 2, 2),
        "plan/workers/1": (2, 2, 1),
    }
    assert assess(gang(PLAN, *pods)).members.desired == 4


def test_an_entry_without_pods_waits_for_its_pods() -> None:
    plan = a_plan(entries={"driver": 1, "workers": 2, "extra": None})
    facts = gang(plan, *bare(2, "plan/workers"))
    result = {unit.name: (unit.desired, unit.quorum) for unit in units_of(facts)}
    assert result == {"plan/driver": (1, 1), "plan/extra": (0, None), "plan/workers": (2, 2)}
    assert facts.owner.desired == 3


def test_an_entry_that_only_others_name_is_theirs() -> None:
    plan = a_plan(entries={"driver": 1, "workers": 2})
    driver = a_job("driver", pods=1, group_name="plan/driver")
    units = the_units(plan, *bare(2, "plan/workers"), foreign_pods=pods_of(driver, 1))
    assert set(units) == {"plan/workers"}


def test_a_basic_entry_has_no_quorum() -> None:
    plan = a_plan(entries={"workers": None})
    (unit,) = the_units(plan, *bare(3, "plan/workers")).values()
    assert (unit.desired, unit.quorum) == (3, None)


def test_a_job_is_a_unit_of_its_own_name() -> None:
    job = a_job("train", pods=2, group_name="plan/workers")
    for pods in ((), pods_of(job, 2)):
        (unit,) = the_units(job, PLAN, *pods).values()
        assert (unit.name, unit.noun, unit.desired, unit.quorum) == ("train", "Job", 2, 2)
        assert unit.group_name == "plan/workers"


def test_a_missing_entry_and_a_missing_workload_leave_no_group() -> None:
    job = a_job("train", pods=2, group_name="plan/driver")
    for objects in ((PLAN, *pods_of(job, 2)), pods_of(job, 2)):
        (unit,) = the_units(job, *objects).values()
        assert (unit.group_name, unit.group, unit.quorum) == ("plan/driver", None, None)


def test_the_newer_of_two_workloads_of_one_name_counts() -> None:
    job = a_job("train", pods=2, group_name="plan/workers")
    old = a_plan(uid="old", created_at=ago(900), entries={"workers": 9})
    (unit,) = the_units(job, old, PLAN, *pods_of(job, 2)).values()
    assert unit.quorum == 2


def test_a_workload_of_the_job_has_no_group() -> None:
    """Pods without `workloadRef` are in no group, even if their Job owns the Workload."""
    job = a_job("train", pods=2)
    (unit,) = the_units(job, a_plan(of=job), *pods_of(job, 2)).values()
    assert (unit.group_name, unit.quorum) == ("", None)


# Verdicts


def code(root: Made, *objects: Made, **fields: Any) -> tuple[str, str]:
    finding = assess(gang(root, *objects, **fields)).finding
    return finding.code, finding.message


def test_a_missing_workload_or_entry_is_named() -> None:
    job = a_job("train", pods=2, group_name="plan/driver")
    assert code(job, *pods_of(job, 2)) == (
        "podgroup-missing",
        "2 pods wait for Workload plan, which does not exist.",
    )
    assert code(job, PLAN, *pods_of(job, 2)) == (
        "podgroup-missing",
        "2 pods wait for podGroup driver, which Workload plan does not have.",
    )


def test_workloads_that_cannot_be_read_are_not_missing() -> None:
    job = a_job("train", pods=2, group_name="plan/workers")
    assert code(job, *pods_of(job, 2), groups_unobserved=True)[0] != "podgroup-missing"


def test_an_entry_without_pods() -> None:
    plan = a_plan(entries={"driver": 1, "workers": 2})
    running = bare(2, "plan/workers", on="n0")
    result, message = code(plan, *running)
    assert result == "pods-not-created"
    assert "No pod names podGroup driver of Workload plan, which needs 1." in message


def test_finished_pods_end_a_bare_workload() -> None:
    pods = [replace(pod, phase="Succeeded") for pod in bare(2, "plan/workers", on="n0")]
    assert code(PLAN, *pods)[0] == "succeeded"


# The gate


def unschedulable(message: str) -> Condition:
    return a_condition("PodScheduled", "False", reason="Unschedulable", message=message)


def test_a_pod_with_a_nominated_node_is_at_the_gate_unless_it_preempts() -> None:
    """Texts as observed on 1.35.4: before and after a timeout, and of a pod that preempts."""
    pod = a_pod(group="plan/workers", nominated_node="n0")
    short = "0/4 nodes are available: 4 Insufficient nvidia.com/gpu."
    tail = " no new claims to deallocate, preemption: 0/4 nodes are available: 4 No preemption"
    timeout = (
        "0/1 nodes are available: 1 rejected due to timeout after waiting 4m59.999052256s at "
        "plugin GangScheduling."
    )
    assert pod.is_waiting_on_permit
    assert replace(pod, scheduled=unschedulable(timeout)).is_waiting_on_permit
    assert replace(pod, scheduled=unschedulable(short + tail)).is_waiting_on_permit
    assert not replace(pod, scheduled=unschedulable(short)).is_waiting_on_permit
    assert not replace(pod, nominated_node="").is_waiting_on_permit
    assert not replace(pod, node="n0").is_waiting_on_permit
    assert not replace(
        pod, group_name="ring"
    ).is_waiting_on_permit  # a PodGroup: 1.36 has no such wait


def test_a_gated_member_is_reported() -> None:
    first, second = bare(2, "plan/workers")
    waiting = replace(first, nominated_node="n0")
    states = member_states(gang(PLAN, waiting, second))
    assert [(state.label, state.reason) for state in states] == [
        ("at the gate", "holds node n0"),
        ("waiting", ""),
    ]


def test_groups_of_newer_minors_stay_as_they_are() -> None:
    group = a_group("ring", quorum=2)
    (unit,) = the_units(group, *bare(2, "ring"), gang_api_version="v1beta1").values()
    assert (unit.group, unit.name) == (group, "ring")
