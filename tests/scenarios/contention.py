"""Scenarios of gangs that take the room of others by their priority."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.nodes import cordon
from tests.controlplane.objects import priority_class
from tests.scenarios.making import (
    Objects,
    all_of,
    gang,
    holders,
    loose,
    once_running,
    one_job,
    quorum,
)
from tests.scenarios.scenario import POOL, Played, Scenario, Stage, Step

Where = Mapping[str, str]


def _urgent(ns: str, nodes: Where) -> list[Json]:
    return [priority_class(f"{ns}-urgent", 1000)]


def _polite(ns: str, nodes: Where) -> list[Json]:
    """A gang of a high priority whose class never preempts."""
    named = priority_class(f"{ns}-polite", 1000, preemptionPolicy="Never")
    created = one_job("run", 2, priority_class=f"{ns}-polite", gang="all", cpu="6")
    return [named, *created(ns, nodes)]


def _urgent_gang(name: str, count: int, **options: Any) -> Objects:
    """Return a Job of a priority of its own namespace, higher than everybody's."""

    def make(ns: str, nodes: Where) -> list[Json]:
        created = one_job(name, count, priority_class=f"{ns}-urgent", **options)
        return [*_urgent(ns, nodes), *created(ns, nodes)]

    return make


# Victims that take their time: they hold their nodes until their kubelet lets them go.
_SLOW: dict[str, Any] = {"cpu": "6", "linger": "10m"}

PREEMPTING = (
    # Two pods of 6 CPU on two nodes of 8 must go for 2 x 5 of a higher priority, and take 90 s for it.
    Scenario(
        "preempting-gang", "Job", "run", "preempting", "waiting",
        one_job("small", 2, indexed=False, cpu="6", linger="90s"), nodes=2,
        act=once_running(2, _urgent_gang("run", 2, gang="all", cpu="5")), says=("2", "small"),
        members={"desired": 2, "quorum": 2, "scheduled": 0},
        steps=(Step(lambda stage: None, "running", "running"),), twin="preempting-none",
    ),
    # Pods that take longer to go, and a class that never preempts: it waits in spite of its priority.
    Scenario(
        "preempting-polite", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1], **_SLOW), _polite),
        says=("12", "4", "CPU"), members={"scheduled": 0}, nodes=2, twin="preempting-gang",
    ),
    # The same without a priority: no pod is preempted for it.
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


def _urgent_group(ns: str, nodes: Where) -> list[Json]:
    """A PodGroup of 1.36 with a priority of its own: the Job controller there gives it none."""
    created = quorum(2, 2, version="v1alpha2", priority_class=f"{ns}-urgent", cpu="6")(ns, nodes)
    created[0]["spec"]["priorityClassName"] = f"{ns}-urgent"
    return [*_urgent(ns, nodes), *created]


# On 1.36 neither its pods nor its PodGroup say that others are being taken away for them (`pod group is
# unschedulable`): only the victims do.
PREEMPTING_136 = (
    Scenario(
        "preempting-group", "PodGroup", "run", "preempting", "waiting",
        all_of(holders([0, 1], **_SLOW), _urgent_group),
        says=("2 pods of lower priority",), members={"scheduled": 0}, nodes=2,
        twin="preempting-gang",
    ),
    # The pods have the priority and their group has not, so no pod is preempted for them.
    Scenario(
        "preempting-gang", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1], **_SLOW), _urgent_gang("run", 2, gang="all", cpu="6")),
        says=("12", "4", "CPU"), members={"scheduled": 0}, nodes=2, twin="preempting-group",
    ),
)  # fmt: skip


def _push_aside(stage: Stage) -> None:
    """Let a gang of a higher priority take all nodes."""
    nodes = {POOL: stage.pool}
    make = _urgent_gang("usurper", 2, gang="all", cpu="6")
    stage.make(make(stage.namespace, nodes))


def _withdraw(stage: Stage) -> None:
    stage.client.delete("batch/v1", "Job", "usurper", stage.namespace)


def _push_out(stage: Stage) -> None:
    """Let a gang of a higher priority take all nodes once gangboard has seen `run`."""
    stage.wait_seen()
    _push_aside(stage)


def _withdraw_and_uncordon(stage: Stage) -> None:
    _withdraw(stage)
    stage.uncordon()


def _push_aside_pods(stage: Stage) -> None:
    """Let pods of a higher priority, each scheduled for itself, take all nodes."""
    nodes = {POOL: stage.pool}
    make = _urgent_gang("usurper", 2, indexed=False, cpu="6")
    stage.make(make(stage.namespace, nodes))


# The preemptor is named, even if the scheduler only reports the uid of a pod.
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
    # With one node cordoned even the empty other one has room for one of the two only: then it does not
    # help to wait for `usurper`.
    Scenario(
        "preempted-gang", "Job", "run", "running", "running", gang(2, cpu="6"),
        members={"ready": 2}, nodes=2, twin="preempting-gang",
        steps=(
            Step(
                _push_aside, "preempted", "waiting", ("usurper",),
                {"desired": 2, "quorum": 2, "scheduled": 0},
            ),
            Step(
                lambda stage: cordon(stage.client, stage.node("1")),
                "exceeds-capacity", "blocked", ("1 of 2", "CPU"),
            ),
            Step(_withdraw_and_uncordon, "running", "running", (), {"ready": 2}),
        ),
    ),
    # Bare pods are not recreated: the group has 0 of 2.
    Scenario(
        "preempted-gang-for-good", "PodGroup", "run", "below-quorum", "blocked", quorum(2, 2, cpu="5"),
        nodes=2, act=_push_out, says=("0 of the 2",), members={"quorum": 2, "created": 0},
        twin="preempted-gang",
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


PLAYED: Played = {
    "k137": (*PREEMPTING, *PREEMPTING_PODS, *PREEMPTED_PODS, *PREEMPTED),
    "k136": (*PREEMPTING_136, *PREEMPTED_136),
    "plain": (*PREEMPTING_PODS, *PREEMPTED_PODS),
}
