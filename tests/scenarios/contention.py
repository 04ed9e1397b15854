"""Scenarios of gangs in each other's way: preemption, mutual deadlock; and of nodes on their way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.objects import JobOptions, jobset, priority_class
from tests.scenarios.making import Objects, all_of, gang, holders, loose, one_job, quorum
from tests.scenarios.scenario import POOL, WHEN_TOLD, Room, Scenario, Stage, Step, patiently

Where = Mapping[str, str]


def _urgent(ns: str, where: Where) -> list[Json]:
    return [priority_class(f"{ns}-urgent", 1000)]


def _polite(ns: str, where: Where) -> list[Json]:
    """A gang of a high priority whose class takes nobody away."""
    named = priority_class(f"{ns}-polite", 1000, preemptionPolicy="Never")
    made = one_job("run", 2, priority_class=f"{ns}-polite", gang="all", cpu="6")
    return [named, *made(ns, where)]


def _urgent_gang(name: str, count: int, **options: Any) -> Objects:
    """Return a Job of a priority of its own namespace, higher than everybody's."""

    def make(ns: str, where: Where) -> list[Json]:
        made = one_job(name, count, priority_class=f"{ns}-urgent", **options)
        return [*_urgent(ns, where), *made(ns, where)]

    return make


# Victims that take their time: they hold their nodes until their kubelet lets them go.
_SLOW: dict[str, Any] = {"cpu": "6", "linger": "10m"}

PREEMPTING = (
    Scenario(
        "preempting-gang", "Job", "run", "preempting", "waiting",
        all_of(holders([0, 1], **_SLOW), _urgent_gang("run", 2, gang="all", cpu="6")),
        says=("2",), members={"scheduled": 0}, nodes=2, twin="preempting-none",
    ),
    # The same with a class that never preempts: it waits in spite of its priority.
    Scenario(
        "preempting-polite", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1], **_SLOW), _polite),
        says=("12", "4", "CPU"), members={"scheduled": 0}, nodes=2, twin="preempting-gang",
    ),
    # The same without a priority: nobody leaves for it.
    Scenario(
        "preempting-none", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1], **_SLOW), gang(2, cpu="6")),
        says=("12", "4", "CPU"), members={"scheduled": 0}, nodes=2, twin="preempting-gang",
    ),
)  # fmt: skip
PREEMPTING_PODS = (
    Scenario(
        "preempting-pods", "Job", "run", "preempting", "waiting",
        all_of(holders([0, 1], **_SLOW), _urgent_gang("run", 2, indexed=False, cpu="6")),
        says=("2",), members={"scheduled": 0}, nodes=2, twin="preempting-nobody",
    ),
    Scenario(
        "preempting-nobody", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1], **_SLOW), loose(2, cpu="6")),
        says=("12", "4", "CPU"), members={"scheduled": 0}, nodes=2, twin="preempting-pods",
    ),
)  # fmt: skip


def _urgent_group(ns: str, where: Where) -> list[Json]:
    """A PodGroup of 1.36 with a priority of its own: the Job controller there gives it none."""
    made = quorum(2, 2, version="v1alpha2", priority_class=f"{ns}-urgent", cpu="6")(ns, where)
    made[0]["spec"]["priorityClassName"] = f"{ns}-urgent"
    return [*_urgent(ns, where), *made]


# On 1.36 neither its pods nor its PodGroup say that others are being taken away for them (`pod group is
# unschedulable`): only the victims do.
PREEMPTING_136 = (
    Scenario(
        "preempting-group", "PodGroup", "run", "preempting", "waiting",
        all_of(holders([0, 1], **_SLOW), _urgent_group),
        says=("2 pods of lower priority",), members={"scheduled": 0}, nodes=2,
        twin="preempting-gang",
    ),
    # The pods have the priority and their group has not: nobody leaves for them.
    Scenario(
        "preempting-gang", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1], **_SLOW), _urgent_gang("run", 2, gang="all", cpu="6")),
        says=("12", "4", "CPU"), members={"scheduled": 0}, nodes=2, twin="preempting-group",
    ),
)  # fmt: skip


def _push_aside(stage: Stage) -> None:
    """Let a gang of a higher priority take all nodes."""
    where = {POOL: stage.pool}
    make = _urgent_gang("usurper", 2, gang="all", cpu="6")
    stage.make(make(stage.namespace, where))


def _withdraw(stage: Stage) -> None:
    stage.client.delete("batch/v1", "Job", "usurper", stage.namespace)


def _push_aside_pods(stage: Stage) -> None:
    """Let pods of a higher priority, each scheduled for itself, take all nodes."""
    where = {POOL: stage.pool}
    make = _urgent_gang("usurper", 2, indexed=False, cpu="6")
    stage.make(make(stage.namespace, where))


# Who took the room is told by name, also where the scheduler tells no more than the uid of a pod.
PREEMPTED_PODS = (
    Scenario(
        "preempted-pods", "Job", "run", "running", "running", loose(2, cpu="6"),
        members={"ready": 2}, nodes=2, twin="preempting-pods",
        steps=(
            Step(
                _push_aside_pods, "preempted", "waiting", ("by preempted-pods/usurper",),
                {"scheduled": 0},
            ),
            Step(_withdraw, "running", "running", (), {"ready": 2}),
        ),
    ),
)  # fmt: skip
PREEMPTED = (
    Scenario(
        "preempted-gang", "Job", "run", "running", "running", gang(2, cpu="6"),
        members={"ready": 2}, nodes=2, twin="preempting-gang",
        steps=(
            Step(_push_aside, "preempted", "waiting", ("usurper",), {"scheduled": 0}),
            Step(_withdraw, "running", "running", (), {"ready": 2}),
        ),
    ),
)  # fmt: skip


def _push_aside_136(stage: Stage) -> None:
    stage.make(_urgent_group(stage.namespace, {POOL: stage.pool}))


def _withdraw_136(stage: Stage) -> None:
    for name in ("m-0", "m-1"):
        stage.delete(name)
    stage.client.delete("scheduling.k8s.io/v1alpha2", "PodGroup", "run", stage.namespace)


PREEMPTED_136 = (
    Scenario(
        "preempted-gang", "Job", "train", "running", "running",
        one_job("train", 2, cpu="6"), members={"ready": 2}, nodes=2, twin="preempting-gang",
        steps=(
            Step(_push_aside_136, "preempted", "waiting", ("run",), {"scheduled": 0}),
            Step(_withdraw_136, "running", "running", (), {"ready": 2}),
        ),
    ),
)  # fmt: skip


def _crossed(ns: str, where: Where) -> list[Json]:
    """Two JobSets of two Jobs, each to begin on the node that the other's second Job needs."""
    left: JobOptions = {"node_selector": {**where, "side": "left"}, "cpu": "6"}
    right: JobOptions = {"node_selector": {**where, "side": "right"}, "cpu": "6"}
    ready = {"a": "Ready"}
    return [
        _jobset("one", ns, {**left, "start_after": WHEN_TOLD}, {**right, "depends_on": ready}),
        _jobset("two", ns, {**right, "start_after": WHEN_TOLD}, {**left, "depends_on": ready}),
    ]


def _start_both(stage: Stage) -> None:
    """Let their first Jobs run when each has its node: whose second one came earlier had both."""
    stage.start(2)


def _jobset(name: str, ns: str, first: JobOptions, second: JobOptions) -> Json:
    return jobset(name, ns, jobs={"a": first, "b": second})


def _half_alone(ns: str, where: Where) -> list[Json]:
    """The first of them alone: what it needs is taken by a pod that needs nothing of it."""
    return [*holders([1], cpu="6")(ns, where), *_crossed(ns, where)[:1]]


SIDES = (Room(labels={"side": "left"}), Room(labels={"side": "right"}))
DEADLOCK = (
    Scenario(
        "crossed-one", "JobSet", "one", "mutual-deadlock", "blocked", _crossed,
        says=("two",), members={"desired": 2, "scheduled": 1}, rooms=SIDES, act=_start_both,
        twin="half-alone",
    ),
    Scenario(
        "crossed-two", "JobSet", "two", "mutual-deadlock", "blocked", _crossed,
        says=("one",), members={"desired": 2, "scheduled": 1}, rooms=SIDES, act=_start_both,
        twin="half-alone",
    ),
    Scenario(
        "half-alone", "JobSet", "one", "partly-placed", "degraded", _half_alone,
        members={"desired": 2, "scheduled": 1}, rooms=SIDES,
        act=lambda stage: stage.start(1), twin="crossed-one",
    ),
)  # fmt: skip


def waiting_pods(stage: Stage) -> list[Json]:
    """Return the pods that the scheduler has refused."""

    def look() -> list[Json] | None:
        found = [
            pod
            for pod in stage.pods()
            for condition in pod.get("status", {}).get("conditions") or ()
            if condition["type"] == "PodScheduled" and condition["status"] == "False"
        ]
        return found or None

    return patiently(look, f"a refused pod in {stage.namespace}")


def scale_up(stage: Stage) -> None:
    """Say what cluster-autoscaler says (core/scaleup/orchestrator: TriggeredScaleUp)."""
    text = "pod triggered scale-up: [{gpu-pool 2->4 (max: 8)}]"
    for pod in waiting_pods(stage):
        stage.tell(pod, "TriggeredScaleUp", text, "cluster-autoscaler")


def nominate_claim(stage: Stage) -> None:
    """Say what Karpenter says (provisioning/scheduling/events: Nominated)."""
    for pod in waiting_pods(stage):
        stage.tell(pod, "Nominated", "Pod should schedule on: nodeclaim/large-7x2kq", "karpenter")


def no_scale_up(stage: Stage) -> None:
    """Say what cluster-autoscaler says when no node group of it would do."""
    text = "pod didn't trigger scale-up: 1 max node group size reached"
    for pod in waiting_pods(stage):
        stage.tell(pod, "NotTriggerScaleUp", text, "cluster-autoscaler")


SCALING = (
    Scenario(
        "scaled-up", "Job", "run", "waiting-for-nodes", "waiting", gang(4, cpu="6"),
        says=("cluster-autoscaler",), members={"scheduled": 0}, nodes=2, act=scale_up,
        twin="not-scaled-up",
    ),
    Scenario(
        "claim-nominated", "Job", "run", "waiting-for-nodes", "waiting", gang(2, cpu="12"),
        says=("Karpenter",), members={"scheduled": 0}, nodes=2, act=nominate_claim,
        twin="not-scaled-up",
    ),
    Scenario(
        "not-scaled-up", "Job", "run", "exceeds-capacity", "blocked", gang(4, cpu="6"),
        says=("CPU",), members={"scheduled": 0}, nodes=2, act=no_scale_up, twin="scaled-up",
    ),
)  # fmt: skip

CONTENTION = (*PREEMPTING, *PREEMPTING_PODS, *PREEMPTED_PODS, *DEADLOCK, *SCALING)
