"""The stored plan of a cluster: made from the waiting gangs of a poll, and made again when something changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gangboard.domain.cluster_plan import ClusterPlan, PlanStepKind
from gangboard.polling import cluster_plans
from gangboard.store import models
from gangboard.store.cluster_plans import read_stored_plan
from simulator import Simulator
from tests.polling.conftest import Watching
from tests.polling.test_pending_gangs import (
    DEVICE,
    give_devices,
    node_names,
    put_waiting_job,
    window_until,
)

Watch = Callable[..., Watching]
POOL = {"team": "plan"}


def cordon(simulator: Simulator, name: str) -> None:
    """Cordon a node, with the taint that the node controller adds."""

    def change(node: dict[str, Any]) -> None:
        node["spec"]["unschedulable"] = True
        node["spec"]["taints"] = [
            {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
        ]

    simulator.objects.update("v1", "Node", name, change)


def uncordon(simulator: Simulator, name: str) -> None:
    def change(node: dict[str, Any]) -> None:
        node["spec"].pop("unschedulable")
        node["spec"].pop("taints")

    simulator.objects.update("v1", "Node", name, change)


def put_replica(simulator: Simulator, node: str, **spec: Any) -> None:
    """A pod of a ReplicaSet on a node, which holds one device."""
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "web",
        "uid": "uid-web",
        "controller": True,
    }
    simulator.objects.put(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "web-0",
                "namespace": "default",
                "uid": "uid-web-0",
                "ownerReferences": [owner],
            },
            "spec": {
                "nodeName": node,
                "containers": [{"name": "main", "resources": {"requests": {DEVICE: "1"}}}],
                **spec,
            },
            "status": {"phase": "Running"},
        }
    )


def plan_of(watching: Watching) -> ClusterPlan:
    plan = read_stored_plan(watching.cluster.pk)
    assert plan is not None
    return plan


def own_steps(plan: ClusterPlan) -> list[tuple[PlanStepKind, list[str]]]:
    """The steps that let the waiting Job run, as kinds and names."""
    return [
        (step.kind, [ref.name for ref in step.pods or step.nodes])
        for step in plan.steps
        if any(ref.name == "waits" for gain in step.gains for ref in gain.gangs)
    ]


def test_a_cordoned_node_with_enough_devices_is_a_step(watch: Watch) -> None:
    watching = watch()
    put_waiting_job(watching.simulator)
    name = node_names(watching.simulator)[0]
    give_devices(watching.simulator, name)
    cordon(watching.simulator, name)
    watching.once()
    plan = plan_of(watching)
    assert own_steps(plan) == [(PlanStepKind.UNCORDON, [name])]
    assert plan.waiting_accelerators >= 16


def test_a_pod_of_a_replica_set_moves_where_another_node_has_a_place(watch: Watch) -> None:
    watching = watch()
    put_waiting_job(watching.simulator)
    first, second, *_ = node_names(watching.simulator)
    give_devices(watching.simulator, first)
    put_replica(watching.simulator, first)
    watching.once()
    assert own_steps(plan_of(watching)) == []

    def give_one(node: dict[str, Any]) -> None:
        node["status"]["allocatable"][DEVICE] = "1"
        node["spec"].pop("taints", None)

    watching.simulator.objects.update("v1", "Node", second, give_one)
    watching.once()
    assert own_steps(plan_of(watching)) == [(PlanStepKind.MOVE_PODS, ["web-0"])]


@pytest.mark.parametrize(
    "spec",
    [
        {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]},
        {"schedulerName": "volcano"},
    ],
)
def test_a_pod_that_is_bound_to_more_than_capacity_does_not_move(
    watch: Watch, spec: dict[str, Any]
) -> None:
    watching = watch()
    put_waiting_job(watching.simulator)
    first, second, *_ = node_names(watching.simulator)
    give_devices(watching.simulator, first)
    give_devices(watching.simulator, second)
    watching.simulator.objects.update(
        "v1", "Node", second, lambda node: node["status"]["allocatable"].update({DEVICE: "1"})
    )
    put_replica(watching.simulator, first, **spec)
    watching.once()
    assert own_steps(plan_of(watching)) == []


def test_a_gang_that_waits_for_a_volume_is_not_promised(watch: Watch) -> None:
    watching = watch()
    put_waiting_job(watching.simulator)
    name = node_names(watching.simulator)[0]
    give_devices(watching.simulator, name)
    cordon(watching.simulator, name)
    volume = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    watching.simulator.objects.update(
        "v1", "Pod", "waits-0", lambda pod: pod["spec"].update(volume), namespace="default"
    )
    watching.once()
    plan = plan_of(watching)
    assert own_steps(plan) == []
    assert plan.undecided >= 1


def test_unreadable_nodes_give_no_plan(watch: Watch) -> None:
    watching = watch()
    watching.simulator.faults.forbidden(resource="nodes")
    put_waiting_job(watching.simulator)
    watching.once()
    assert plan_of(watching) == ClusterPlan(why="nodes: forbidden")


def test_a_plan_is_made_again_when_a_node_changes(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_plans, "PLAN_INTERVAL", 0.0)
    watching = watch()
    put_waiting_job(watching.simulator)
    name = node_names(watching.simulator)[0]
    give_devices(watching.simulator, name)
    cordon(watching.simulator, name)
    window_until(
        watching, lambda: models.ClusterPlan.objects.exists() and bool(own_steps(plan_of(watching)))
    )
    uncordon(watching.simulator, name)
    window_until(watching, lambda: not own_steps(plan_of(watching)))


def test_plans_of_a_busy_cluster_have_a_pause(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within 30 s after a plan no other one is made, whatever changes."""
    watching = watch()
    put_waiting_job(watching.simulator)
    name = node_names(watching.simulator)[0]
    give_devices(watching.simulator, name)
    cordon(watching.simulator, name)
    window_until(watching, lambda: models.ClusterPlan.objects.exists())
    made: list[object] = []
    monkeypatch.setattr(cluster_plans, "make_plan", lambda *args, **_: made.append(args))
    uncordon(watching.simulator, name)
    watching.settle()
    assert not made


def test_a_plan_of_another_release_is_unknown(watch: Watch) -> None:
    watching = watch()
    watching.once()
    models.ClusterPlan.objects.update(plan={"steps": [{"kind": "magic"}]})
    assert read_stored_plan(watching.cluster.pk) is None
