"""A relocation where Kueue chose the nodes: what is refused, what is said, and where it fits."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.action import Avoid, StepKind
from gangboard.domain.capacity import NodeInfo
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import PodConstraints, Toleration
from gangboard.domain.queue import AssignedNodes
from gangboard.facts.gang import Gang
from tests.domain_objects import NOW, a_condition, an_entry
from tests.policy.test_relocation import (
    HOST,
    RACK,
    READY,
    a_node,
    a_run,
    around,
    planned,
    pods_on,
)

LEVERS = replace(READY, cordon=True, cordon_proved_at=NOW)
EVICTS = "If Kueue finds no replacement for the node, it evicts the whole of JobSet run."
LABEL = "kueue.x-k8s.io/podset"


def an_assigned_run(
    nodes: dict[str, int], required: str = "", **fields: Any
) -> tuple[Gang, Owner, Owner]:
    """A JobSet that Kueue admitted to these nodes (pods by node)."""
    gang, job, sibling = a_run()
    owner = replace(gang.owner, queue="lq")
    sliced = fields.pop("is_sliced", False)
    assigned = fields.pop("assigned", (AssignedNodes(LABEL, "w", nodes, required, sliced),))
    values = {"admitted": True, "has_quota": True, "assigned": assigned, **fields}
    return replace(gang, owner=owner, entries=(an_entry(owner, **values),)), job, sibling


def pinned(job: Owner, *nodes: str, **fields: Any) -> tuple[Pod, ...]:
    """Pods to which Kueue added the host name of their node."""
    return tuple(
        replace(pod, needs=replace(pod.needs, node_selector=((HOST, pod.node),)))
        for pod in pods_on(job, *nodes, **fields)
    )


def a_scene(*nodes: NodeInfo, required: str = "", **fields: Any) -> tuple[Gang, Owner, Any]:
    """The Job on n0 and n1, its sibling on n2. `nodes` are the other nodes."""
    gang, job, sibling = an_assigned_run({"n0": 1, "n1": 1, "n2": 2}, required, **fields)
    own = (a_node("n0", free=4), a_node("n1", free=4), a_node("n2", free=0))
    pods = (*pinned(job, "n0", "n1"), *pinned(sibling, "n2", "n2"))
    return gang, job, around(*own, *nodes, pods=pods)


def test_one_node_is_cordoned_and_only_its_pods_need_another() -> None:
    gang, job, surroundings = a_scene(a_node("n3"))
    plan = planned(gang, job, surroundings, levers=LEVERS)
    assert plan.allowed, plan.why_not
    assert (plan.lever, plan.warnings) == ("hold-cordon", (EVICTS,))
    kinds = [step.kind.value for step in plan.steps]
    assert kinds == [
        "cordon",
        "wait-tainted",
        "create-hold",
        "prove-hold",
        "patch",
        "wait-stopped",
        "wait-replaced",
        "delete-hold",
        "prove-release",
        "restart",
        "uncordon",
    ]
    cordon, uncordon = plan.steps[0], plan.steps[-1]
    assert (cordon.method, cordon.path) == ("PATCH", "/api/v1/nodes/n0")
    mark = "/metadata/annotations/gangboard.dev~1cordoned-by"
    assert json.loads(cordon.patch) == [
        {"op": "test", "path": "/spec/unschedulable", "value": None},
        {"op": "add", "path": "/spec/unschedulable", "value": True},
        {"op": "add", "path": mark, "value": "a-1"},
    ]
    assert json.loads(uncordon.patch) == [
        {"op": "test", "path": mark, "value": "a-1"},
        {"op": "add", "path": "/spec/unschedulable", "value": False},
        {"op": "remove", "path": mark},
    ]
    (waits,) = (step for step in plan.steps if step.kind is StepKind.WAIT_REPLACED)
    name = gang.entries[0].meta.ref.name
    assert waits.path.endswith(f"/v1beta2/namespaces/{job.meta.ref.namespace}/workloads/{name}")
    text = " ".join(plan.reactions)
    assert "Node n0 is cordoned for everybody while the Job moves" in text
    assert "It fits now on n3; Kueue chooses." in plan.reactions or "n1" in text
    assert "template" not in text
    assert "exclusion" not in text


def test_its_own_other_pods_keep_their_nodes() -> None:
    """Only the pod of n0 moves. The room of the Job on n1 is not free for it, unlike with an exclusion."""
    gang, job, surroundings = a_scene()
    nodes = (a_node("n0", free=4), a_node("n1", free=0), a_node("n2", free=0))
    plan = planned(gang, job, replace(surroundings, nodes=nodes), levers=LEVERS)
    assert plan.why_not.startswith("Nothing else fits")
    assert plan.why_not.endswith("Kueue would evict the whole JobSet.")


def test_a_required_domain_without_a_spare_is_refused() -> None:
    gang, job, surroundings = a_scene(a_node("n3", rack="r1"), required=RACK)
    full = [replace(node, now=a_node("n", free=0).now) for node in surroundings.nodes[:3]]
    tight = replace(surroundings, nodes=(*full, surroundings.nodes[3]))
    plan = planned(gang, job, tight, levers=LEVERS)
    assert plan.why_not == (
        "Nothing else fits: it has 1 pod of 4 GPUs, and the largest free place outside node n0 in rack r0 is "
        "0 GPUs. Kueue would evict the whole JobSet."
    )
    assert plan.steps == ()
    # With a preferred domain or none, the other rack is room.
    gang, job, _ = a_scene()
    assert planned(gang, job, tight, levers=LEVERS).allowed


def test_a_spare_in_the_required_domain_is_room() -> None:
    gang, job, surroundings = a_scene(a_node("n3"), a_node("n4", rack="r1"), required=RACK)
    plan = planned(gang, job, surroundings, levers=LEVERS)
    assert plan.allowed, plan.why_not


def test_the_only_assigned_node_may_be_replaced_in_any_domain() -> None:
    gang, job, _ = an_assigned_run({"n0": 2}, RACK)
    surroundings = around(
        a_node("n0", free=0), a_node("n1", rack="r1"), pods=pinned(job, "n0", "n0")
    )
    assert planned(gang, job, surroundings, levers=LEVERS).allowed


@pytest.mark.parametrize("avoid", [Avoid(("n0", "n1")), Avoid(topology=(RACK, "r0")), Avoid()])
def test_only_one_node_can_be_left(avoid: Avoid) -> None:
    gang, job, surroundings = a_scene(a_node("n3"))
    plan = planned(gang, job, surroundings, avoid, LEVERS)
    assert plan.why_not == (
        "Kueue replaces one node at a time, and would evict the whole JobSet for more: choose one node."
    )


@pytest.mark.parametrize("change", [{"unschedulable": True}, {"ready": False}])
def test_a_second_node_that_takes_no_pods_is_refused(change: dict[str, bool]) -> None:
    gang, job, surroundings = a_scene(a_node("n3"))
    nodes = tuple(
        replace(node, **change) if node.name == "n2" else node for node in surroundings.nodes
    )
    plan = planned(gang, job, replace(surroundings, nodes=nodes), levers=LEVERS)
    assert "Node n2 of JobSet run is cordoned, failed or gone" in plan.why_not
    assert "Kueue would evict the whole JobSet" in plan.why_not


def test_a_node_that_kueue_replaces_already_is_refused() -> None:
    gang, job, surroundings = a_scene(a_node("n3"), failed_nodes=("n9",))
    assert "Node n9 of JobSet run" in planned(gang, job, surroundings, levers=LEVERS).why_not


def test_pods_of_a_sibling_on_the_node_are_refused() -> None:
    gang, job, sibling = an_assigned_run({"n0": 4})
    pods = (*pinned(job, "n0", "n0"), *pinned(sibling, "n0", "n0", gpus="0"))
    surroundings = around(a_node("n0", free=0), a_node("n1"), pods=pods)
    why = planned(gang, job, surroundings, levers=LEVERS).why_not
    assert why.startswith("2 pods of other Jobs of JobSet run run on node n0")


def test_pods_that_tolerate_a_cordon_are_refused() -> None:
    gang, job, surroundings = a_scene(a_node("n3"))
    needs = PodConstraints(tolerations=(Toleration(operator="Exists"),))
    pods = tuple(replace(pod, needs=needs) for pod in surroundings.pods)
    plan = planned(gang, job, replace(surroundings, pods=pods), levers=LEVERS)
    assert "tolerate the taint node.kubernetes.io/unschedulable" in plan.why_not


def test_a_toleration_of_another_taint_does_not_matter() -> None:
    gang, job, surroundings = a_scene(a_node("n3"))
    needs = PodConstraints(tolerations=(Toleration("tas", "Exists"),))
    pods = tuple(replace(pod, needs=needs) for pod in surroundings.pods)
    assert planned(gang, job, replace(surroundings, pods=pods), levers=LEVERS).allowed


def test_slices_of_a_topology_are_refused() -> None:
    gang, job, surroundings = a_scene(a_node("n3"), is_sliced=True)
    why = planned(gang, job, surroundings, levers=LEVERS).why_not
    assert "asks Kueue for slices of a topology" in why


def test_a_node_with_another_host_name_is_refused() -> None:
    gang, job, surroundings = a_scene(a_node("n3"))
    nodes = tuple(
        replace(node, labels={**node.labels, HOST: "other"}) if node.name == "n0" else node
        for node in surroundings.nodes
    )
    plan = planned(gang, job, replace(surroundings, nodes=nodes), levers=LEVERS)
    assert "its label kubernetes.io/hostname differs" in plan.why_not


def test_without_the_right_the_sentence_names_the_setting_and_the_other_way() -> None:
    gang, job, surroundings = a_scene(a_node("n3"))
    plan = planned(gang, job, surroundings, levers=replace(LEVERS, cordon=False))
    assert plan.needs == "GANGBOARD_CORDON=on"
    assert "manage.py print_rbac" in plan.why_not
    assert "Suspend and resume the whole JobSet instead, or evict it" in plan.why_not


def test_a_cordon_of_an_admin_stays() -> None:
    gang, job, surroundings = a_scene(a_node("n3"))
    nodes = tuple(replace(node, unschedulable=node.name == "n0") for node in surroundings.nodes)
    plan = planned(gang, job, replace(surroundings, nodes=nodes), levers=LEVERS)
    kinds = {step.kind for step in plan.steps}
    assert StepKind.WAIT_TAINTED in kinds
    assert not kinds & {StepKind.CORDON, StepKind.UNCORDON}
    assert "Node n0 is cordoned already and stays so." in plan.reactions


def test_only_a_workload_with_ready_pods_has_a_recovery_timeout() -> None:
    gang, job, surroundings = a_scene(a_node("n3"))
    ready = a_condition("PodsReady", "True", reason="Started")
    (entry,) = gang.entries
    gang = replace(gang, entries=(replace(entry, conditions=(*entry.conditions, ready)),))
    plan = planned(gang, job, surroundings, levers=LEVERS)
    assert plan.warnings == (
        EVICTS,
        "Kueue evicts the whole of JobSet run if this Job is away for longer than its "
        "waitForPodsReady.recoveryTimeout.",
    )


def test_a_cluster_without_a_replaced_node_is_a_warning() -> None:
    gang, job, surroundings = a_scene(a_node("n3"))
    for levers, text in (
        (replace(LEVERS, cordon_proved_at=None), "No node was replaced in this cluster yet."),
        (replace(LEVERS, cordon_refuted_at=NOW), "did not replace the last cordoned node"),
    ):
        plan = planned(gang, job, surroundings, levers=levers)
        assert any(text in warning for warning in plan.warnings)
