"""Scenarios of gang scheduling: on 1.37 and, where the older API has the same, on 1.36."""

from __future__ import annotations

from collections.abc import Mapping

from tests.controlplane.client import Json
from tests.controlplane.objects import job, jobset, pod, podgroup, priority_class
from tests.scenarios.making import bare, one_job
from tests.scenarios.scenario import POOL, WHEN_TOLD, Played, Room, Scenario, Stage, Step

Where = Mapping[str, str]


def _members(ns: str, nodes: Where, count: int, group: str, **options: object) -> list[Json]:
    return [
        pod(f"m-{index}", ns, pod_group=group, node_selector=nodes, **options)  # type: ignore[arg-type]
        for index in range(count)
    ]


def _gang_runs(ns: str, nodes: Where) -> list[Json]:
    return [job("gang", ns, parallelism=3, gang="all", node_selector=nodes)]


def _short_of_gpus(ns: str, nodes: Where) -> list[Json]:
    return [job("big", ns, parallelism=6, gang="all", gpu=4, node_selector=nodes)]


def _no_such_node(ns: str, nodes: Where) -> list[Json]:
    selector = {**nodes, "zone": "moon"}
    return [job("lunar", ns, parallelism=3, gang="all", node_selector=selector)]


def _quorum_of(version: str) -> tuple[Scenario, ...]:
    """Scenarios with hand-made PodGroups of one API version."""

    def below_quorum(ns: str, nodes: Where) -> list[Json]:
        group = podgroup("half", ns, version=version, gang=4)
        return [group, *_members(ns, nodes, 2, "half")]

    def at_quorum(ns: str, placements: Where) -> list[Json]:
        group = podgroup("enough", ns, version=version, gang=2)
        return [group, *_members(ns, placements, 2, "enough")]

    def missing(ns: str, namespace: Where) -> list[Json]:
        return _members(ns, namespace, 1, "no-such-group")

    def job_missing(ns: str, where: Where) -> list[Json]:
        return [job("stray", ns, parallelism=2, pod_group="lost-group", node_selector=where)]

    def gates(ns: str, where: Where) -> list[Json]:
        group = podgroup("gated-gang", ns, version=version, gang=2)
        return [group, *_members(ns, where, 2, "gated-gang", gates=["example.com/quota"])]

    def mixed(ns: str, where: Where) -> list[Json]:
        return [
            podgroup("mixed", ns, version=version, gang=2),
            pod("m-0", ns, pod_group="mixed", node_selector=where),
            pod("m-1", ns, pod_group="mixed", scheduler="second-scheduler", node_selector=where),
        ]

    def bound(ns: str, where: Where, other: str) -> list[Json]:
        """A basic group of which another scheduler has bound one pod; the second names `other`."""
        first = pod("m-0", ns, pod_group="loose", scheduler="second-scheduler", node_selector=where)
        first["spec"]["nodeName"] = f"{where[POOL]}-0"
        second = pod("m-1", ns, pod_group="loose", scheduler=other, node_selector=where)
        return [podgroup("loose", ns, version=version), first, second]

    def bound_by_another(ns: str, where: Where) -> list[Json]:
        return bound(ns, where, "default-scheduler")

    def all_of_another(ns: str, where: Where) -> list[Json]:
        return bound(ns, where, "second-scheduler")

    # The scheduler of 1.36 looks at waiting pods only, and places the second.
    of_basic_groups = () if version == "v1alpha2" else (
        Scenario(
            "mixed-basic", "PodGroup", "loose", "mixed-schedulers", "blocked",
            bound_by_another,
            says=("default-scheduler", "second-scheduler"), nodes=1, twin="unmixed-basic",
        ),
        Scenario(
            "unmixed-basic", "PodGroup", "loose", "not-attempted", "blocked",
            all_of_another, says=("second-scheduler",),
            nodes=1, twin="mixed-basic",
        ),
    )  # fmt: skip

    def nobody(ns: str, where: Where) -> list[Json]:
        group = podgroup("forgotten", ns, version=version, gang=2)
        members = _members(ns, where, 2, "forgotten", scheduler="retired-scheduler")
        return [group, *members]

    def below_size(ns: str, where: Where) -> list[Json]:
        group = podgroup("partial", ns, version=version, gang=2)
        return [group, *_members(ns, where, 4, "partial", cpu="6")]

    def terminating(ns: str, where: Where) -> list[Json]:
        group = podgroup("going", ns, version=version, gang=3)
        return [group, *_members(ns, where, 2, "going")]

    def delete_group(stage: Stage) -> None:
        api = f"scheduling.k8s.io/{version}"
        stage.client.wait_for(
            api,
            "PodGroup",
            "going",
            stage.namespace,
            until=lambda result: result["metadata"].get("finalizers"),
        )
        stage.client.delete(api, "PodGroup", "going", stage.namespace)

    def deadlock(ns: str, where: Where) -> list[Json]:
        return [
            podgroup("shared", ns, version=version, gang=3),
            jobset(
                "locked",
                ns,
                jobs={
                    "driver": {"pod_group": "shared", "node_selector": where},
                    "workers": {
                        "pods": 2,
                        "pod_group": "shared",
                        "depends_on": {"driver": "Ready"},
                        "node_selector": where,
                    },
                },
            ),
        ]

    return (
        Scenario(
            "below-quorum", "PodGroup", "half", "below-quorum", "blocked", below_quorum,
            says=("2", "4"), members={"desired": 4, "quorum": 4, "created": 2}, nodes=1,
            twin="at-quorum",
        ),
        Scenario(
            "at-quorum", "PodGroup", "enough", "running", "running", at_quorum,
            members={"desired": 2, "quorum": 2, "ready": 2}, nodes=1, twin="below-quorum",
        ),
        Scenario(
            "podgroup-missing", "Pod", "m-0", "podgroup-missing", "blocked", missing,
            says=("no-such-group",), nodes=1, twin="below-quorum",
        ),
        Scenario(
            "podgroup-missing-job", "Job", "stray", "podgroup-missing", "blocked", job_missing,
            says=("lost-group",), members={"created": 2, "scheduled": 0}, nodes=1,
            twin="gang-runs",
        ),
        Scenario(
            "podgroup-terminating", "PodGroup", "going", "podgroup-terminating", "blocked",
            terminating, says=("going",), nodes=1, act=delete_group, twin="below-quorum",
        ),
        Scenario(
            "gated-gang", "PodGroup", "gated-gang", "scheduling-gated", "waiting", gates,
            says=("example.com/quota", "2"), members={"quorum": 2, "scheduled": 0}, nodes=1,
            twin="not-attempted-gang",
        ),
        Scenario(
            "mixed-schedulers", "PodGroup", "mixed", "mixed-schedulers", "blocked", mixed,
            says=("default-scheduler", "second-scheduler"), members={"scheduled": 0}, nodes=1,
            twin="not-attempted-gang",
        ),
        *of_basic_groups,
        Scenario(
            "not-attempted-gang", "PodGroup", "forgotten", "not-attempted", "blocked", nobody,
            says=("retired-scheduler", "2"), members={"created": 2, "scheduled": 0}, nodes=1,
            twin="mixed-schedulers",
        ),
        Scenario(
            "below-size", "PodGroup", "partial", "below-size", "degraded", below_size,
            says=("2 of 4",), members={"desired": 4, "quorum": 2, "created": 4, "scheduled": 2},
            nodes=2, twin="partly-placed",
        ),
        Scenario(
            "quorum-deadlock", "JobSet", "locked", "quorum-deadlock", "blocked", deadlock,
            says=("shared", "driver", "workers"), members={"desired": 3, "created": 1}, nodes=1,
            twin="staged",
        ),
    )  # fmt: skip


def _partly_placed(ns: str, nodes: Where) -> list[Json]:
    # NonIndexed: no gang in 1.36; a basic group in 1.37. Both place pod by pod.
    return [job("sweep", ns, parallelism=4, cpu="6", indexed=False, node_selector=nodes)]


GANG_JOBS = (
    Scenario(
        "gang-runs", "Job", "gang", "running", "running", _gang_runs,
        members={"desired": 3, "quorum": 3, "ready": 3}, nodes=1, twin="short-of-gpus",
    ),
    Scenario(
        "short-of-gpus", "Job", "big", "exceeds-capacity", "blocked", _short_of_gpus,
        says=("24", "16", "GPU"), members={"desired": 6, "quorum": 6, "created": 6, "scheduled": 0},
        nodes=4, gpus=4, twin="partly-placed",
    ),
    Scenario(
        "no-such-node", "Job", "lunar", "no-matching-node", "blocked", _no_such_node,
        says=("3", "zone"), members={"quorum": 3, "scheduled": 0}, nodes=1,
        twin="gang-runs",
    ),
    Scenario(
        "partly-placed", "Job", "sweep", "partly-placed", "degraded", _partly_placed,
        says=("2 of 4",), members={"desired": 4, "quorum": None, "created": 4, "scheduled": 2},
        nodes=2, twin="below-size",
    ),
)  # fmt: skip


def _priority_mismatch(ns: str, nodes: Where) -> list[Json]:
    return [
        priority_class(f"{ns}-urgent", 1000),
        podgroup("ranked", ns, gang=2),
        *_members(ns, nodes, 2, "ranked", priority_class=f"{ns}-urgent"),
    ]


def _two_minds(ns: str, nodes: Where, size: int = 2) -> list[Json]:
    """Pods of one group of which one may not preempt: the scheduler gives up."""
    calm = {**priority_class(f"{ns}-calm", 0), "preemptionPolicy": "Never"}
    return [
        calm,
        podgroup("minds", ns, gang=size),
        *_members(ns, nodes, size - 1, "minds"),
        pod("m-calm", ns, pod_group="minds", priority_class=f"{ns}-calm", node_selector=nodes),
    ]


def _one_urgent(ns: str, nodes: Where) -> list[Json]:
    """Return a gang of three bare pods, the last of which has a higher priority."""
    urgent = f"{ns}-urgent"
    return [priority_class(urgent, 70), *bare(3, {}, {}, {"priority_class": urgent})(ns, nodes)]


def _grow(stage: Stage) -> None:
    """One member more, which does not start yet."""
    stage.start(2)
    stage.wait_running(2)
    spec = {"parallelism": 3, "completions": 3}
    stage.client.patch("batch/v1", "Job", "elastic", {"spec": spec}, stage.namespace)


def _slow_job(ns: str, nodes: Where) -> list[Json]:
    return [job("elastic", ns, parallelism=2, gang=2, start_after=WHEN_TOLD, node_selector=nodes)]


def _long_name(ns: str, nodes: Where) -> list[Json]:
    # The controller makes a template named <job>-pgt-0, which may have 63 characters at most.
    name = "a-very-long-name-for-a-training-run-that-somebody-generated"
    return [job(name, ns, parallelism=2, gang="all", node_selector=nodes)]


ON_137 = (
    Scenario(
        "scheduler-error", "PodGroup", "minds", "scheduler-error", "blocked", _two_minds,
        says=("preemption policy",), nodes=1, twin="priority-mismatch",
    ),
    Scenario(
        "one-of-four-calm", "PodGroup", "minds", "scheduler-error", "blocked",
        lambda ns, where: _two_minds(ns, where, 4), says=("preemption policy", "Never"),
        members={"quorum": 4, "scheduled": 0}, nodes=2, twin="priority-mismatch",
    ),
    Scenario(
        "priority-mismatch", "PodGroup", "ranked", "priority-mismatch", "blocked",
        _priority_mismatch, says=("1000",), nodes=1, twin="at-quorum",
    ),
    # The group and two pods have priority 0, the last pod has 70.
    Scenario(
        "one-urgent-pod", "PodGroup", "run", "priority-mismatch", "blocked",
        _one_urgent, nodes=1, says=("70",), members={"scheduled": 0},
        twin="one-of-four-calm",
    ),
    # 4 x 3 CPU, quorum 2: the node of 8 takes two, that of 3 takes one, 3 of 4 run.
    Scenario(
        "one-seat-short", "Job", "run", "below-size", "degraded",
        one_job("run", 4, gang=2, cpu="3"), rooms=(Room(cpu="8"), Room(cpu="3")), says=("3 of 4",),
        members={"desired": 4, "quorum": 2, "scheduled": 3},
        steps=(Step(lambda stage: stage.add_nodes(Room(cpu="3")), "running", "running"),),
        twin="short-of-gpus",
    ),
    Scenario(
        "resizing", "Job", "elastic", "resizing", "starting", _slow_job,
        says=("2 of 3",), members={"desired": 3, "quorum": 2, "ready": 2}, nodes=1, act=_grow,
        twin="below-size",
    ),
    Scenario(
        "group-creation-failed", "Job",
        "a-very-long-name-for-a-training-run-that-somebody-generated",
        "group-creation-failed", "blocked", _long_name, nodes=1, twin="gang-runs",
    ),
)  # fmt: skip


LIMITED = (
    Scenario(
        "gang-runs", "Job", "gang", "not-observed", "unknown", _gang_runs,
        says=("podgroups.scheduling.k8s.io",), twin="gang-runs",
    ),
    # Whether two pods are enough stands in an object that may not be looked at.
    Scenario(
        "below-quorum", "Pod", "m-0", "not-observed", "unknown", lambda ns, where: [],
        says=("podgroups.scheduling.k8s.io",), twin="below-quorum",
    ),
)  # fmt: skip
"""Verdicts for a viewer without access to PodGroups: on a running gang, and on one that cannot run."""


PLAYED: Played = {
    "k137": (*GANG_JOBS, *_quorum_of("v1beta1"), *ON_137),
    "k136": (*GANG_JOBS, *_quorum_of("v1alpha2")),
    "limited": LIMITED,
}
